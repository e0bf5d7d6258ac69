//go:build tools

// This module exists to pin kwok, which plays the kubelets: it cannot share a
// module with the control plane, because the two need different client-go.
package tools

import _ "sigs.k8s.io/kwok/cmd/kwok"
