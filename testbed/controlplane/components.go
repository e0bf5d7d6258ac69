// The programs of a testbed: how each is called, and how one knows that it is
// ready. Their order is that of the JSON line's readers: storage first.
package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"time"
)

type componentSpec struct {
	name     string
	args     func(*bed) []string
	health   func(*bed) string
	patience time.Duration // from SIGTERM to SIGKILL when stopped by command
}

var components = []componentSpec{
	{"etcd", etcdArgs, func(b *bed) string { return b.url("http", "etcd") + "/health" }, 2 * time.Second},
	{"kube-apiserver", apiserverArgs, func(b *bed) string { return b.url("https", "kube-apiserver") + "/readyz" }, 2 * time.Second},
	{"kube-controller-manager", managerArgs, func(b *bed) string { return b.url("https", "kube-controller-manager") + "/healthz" }, 2 * time.Second},
	{"kube-scheduler", schedulerArgs, func(b *bed) string { return b.url("https", "kube-scheduler") + "/readyz" }, 2 * time.Second},
	{"kwok", kwokArgs, func(b *bed) string { return b.url("http", "kwok") + "/readyz" }, 2 * time.Second},
}

func component(name string) *componentSpec {
	for i := range components {
		if components[i].name == name {
			return &components[i]
		}
	}
	return nil
}

func etcdArgs(b *bed) []string {
	client, peer := b.url("http", "etcd"), b.url("http", "etcd-peer")
	return []string{
		"--name=testbed",
		"--data-dir=" + b.path("etcd"),
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=testbed=" + peer,
		"--unsafe-no-fsync",
		"--quota-backend-bytes=8589934592",
		"--log-level=warn",
	}
}

func apiserverArgs(b *bed) []string {
	args := []string{
		"--etcd-servers=" + b.url("http", "etcd"),
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		b.portFlag("kube-apiserver"),
		"--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=10.32.0.0/16",
		"--tls-cert-file=" + b.path("pki", "server.crt"),
		"--tls-private-key-file=" + b.path("pki", "server.key"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + b.path("pki", "accounts.pub"),
		"--service-account-signing-key-file=" + b.path("pki", "accounts.key"),
		"--authorization-mode=RBAC",
		// As OpenShift has it: whoever makes an object the owner of another
		// needs the right to its finalizers.
		"--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
		"--token-auth-file=" + b.path("tokens.csv"),
		"--audit-policy-file=" + b.path("audit-policy.yaml"),
		"--audit-log-path=" + b.path("audit.log"),
		"--audit-log-maxsize=4096",
		"--audit-log-mode=batch",
		"--audit-log-batch-buffer-size=100000",
		"--audit-log-batch-max-size=1000",
		"--audit-log-batch-max-wait=200ms",
		// A testbed measures the program under test, not the server's limits.
		"--enable-priority-and-fairness=false",
		"--max-requests-inflight=10000",
		"--max-mutating-requests-inflight=10000",
		"--goaway-chance=0",
		"--shutdown-delay-duration=0s",
	}
	if !b.opts.mutatingPolicy {
		group := "admissionregistration.k8s.io/v1/mutatingadmission"
		args = append(args, "--feature-gates=MutatingAdmissionPolicy=false",
			fmt.Sprintf("--runtime-config=%[1]spolicies=false,%[1]spolicybindings=false", group))
	}
	return append(args, b.gates()...)
}

// gates are the feature gates that a caller asked for.
func (b *bed) gates() []string {
	if b.opts.featureGates == "" {
		return nil
	}
	return []string{"--feature-gates=" + b.opts.featureGates}
}

func managerArgs(b *bed) []string {
	return append(append(b.delegated("kube-controller-manager"), b.gates()...),
		"--kubeconfig="+b.path("kube-controller-manager.kubeconfig"),
		"--service-account-private-key-file="+b.path("pki", "accounts.key"),
		"--root-ca-file="+b.path("pki", "ca.crt"),
		"--use-service-account-credentials=true",
		"--controllers=*,-node-ipam-controller,-node-lifecycle-controller",
		"--kube-api-qps=5000",
		"--kube-api-burst=10000",
		"--leader-elect=false",
	)
}

func schedulerArgs(b *bed) []string {
	return append(b.delegated("kube-scheduler"), "--config="+b.path("scheduler.yaml"))
}

// delegated is what the programs need that serve health and metrics and ask
// the API server who is calling.
func (b *bed) delegated(name string) []string {
	config := b.path(name + ".kubeconfig")
	return []string{
		"--bind-address=127.0.0.1",
		b.portFlag(name),
		"--tls-cert-file=" + b.path("pki", "server.crt"),
		"--tls-private-key-file=" + b.path("pki", "server.key"),
		"--authentication-kubeconfig=" + config,
		"--authorization-kubeconfig=" + config,
		"--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics",
	}
}

func kwokArgs(b *bed) []string {
	return []string{
		"--kubeconfig=" + b.path("kwok.kubeconfig"),
		"--config=" + b.path("stages.yaml"),
		"--manage-all-nodes=true",
		"--node-lease-duration-seconds=0",
		"--node-ip=10.0.0.1",
		"--cidr=10.64.0.0/10",
		"--server-address=" + b.address("kwok"),
	}
}

func (b *bed) portFlag(name string) string {
	return fmt.Sprintf("--secure-port=%d", b.ports[name])
}

// prober asks for health. It does not check who answers: these are our own
// children on loopback, and the admin's client does check.
var prober = &http.Client{
	Timeout: time.Second,
	Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
		DisableKeepAlives: true,
	},
}

func (b *bed) healthy(ctx context.Context, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	answer, err := prober.Do(request)
	if err != nil {
		return false
	}
	answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}
