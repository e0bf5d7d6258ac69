// Everything a control plane reads from disk: certificates, tokens,
// kubeconfigs, policies. All of it is made anew for each testbed.
package main

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"os"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	clientapi "k8s.io/client-go/tools/clientcmd/api"
)

// users get a token and a kubeconfig each, so that the audit log tells them
// apart. A testbed is thrown away, but its tokens are still random: other users
// of the machine can reach loopback.
var users = []struct{ name, file, groups string }{
	{"admin", "admin", "system:masters"},
	{"developer", "developer", ""},
	{"gitops", "gitops", ""},
	{"kwok", "kwok", "system:masters"},
	{"system:kube-controller-manager", "kube-controller-manager", ""},
	{"system:kube-scheduler", "kube-scheduler", ""},
}

// Every request is recorded once, when it is answered: the entry carries both
// requestReceivedTimestamp and stageTimestamp. Health checks are left out.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
omitManagedFields: true
rules:
- level: None
  nonResourceURLs: ["/healthz*", "/livez*", "/readyz*"]
- level: Metadata
`

const schedulerConfig = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection:
  kubeconfig: %q
  qps: 5000
  burst: 10000
leaderElection:
  leaderElect: false
`

// takePorts finds a port for each listener. They lie below the range that the
// kernel gives to outgoing connections, so that a port is still free when its
// component is started again.
func (b *bed) takePorts() error {
	b.ports = map[string]int{}
	names := []string{"etcd", "etcd-peer", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"}
	for _, name := range names {
		port, err := b.takePort()
		if err != nil {
			return err
		}
		b.ports[name] = port
	}
	return nil
}

func (b *bed) takePort() (int, error) {
	for range 1000 {
		port := 20000 + mathrand.IntN(12000)
		held, err := claim(port)
		if err != nil {
			continue
		}
		probe, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			held.Close()
			continue
		}
		probe.Close()
		b.claims = append(b.claims, held)
		return port, nil
	}
	return 0, fmt.Errorf("no free port on loopback")
}

func (b *bed) writeFiles() error {
	for _, dir := range []string{"logs", "pki", "etcd"} {
		if err := os.MkdirAll(b.path(dir), 0o700); err != nil {
			return err
		}
	}
	stages, err := os.ReadFile(b.opts.stages)
	if err != nil {
		return err
	}
	files := map[string]string{
		"stages.yaml":       string(stages),
		"audit-policy.yaml": auditPolicy,
		"scheduler.yaml":    fmt.Sprintf(schedulerConfig, b.path("kube-scheduler.kubeconfig")),
		// Readers may open the audit log before the first request.
		"audit.log": "",
	}
	for name, text := range files {
		if err := os.WriteFile(b.path(name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	if err := b.writeKeys(); err != nil {
		return err
	}
	return b.writeUsers()
}

// writeUsers writes the token file and a kubeconfig for each user.
func (b *bed) writeUsers() error {
	var tokens strings.Builder
	for _, user := range users {
		secret := make([]byte, 16)
		if _, err := io.ReadFull(rand.Reader, secret); err != nil {
			return err
		}
		token := hex.EncodeToString(secret)
		fmt.Fprintf(&tokens, "%s,%s,%s", token, user.name, user.name)
		if user.groups != "" {
			fmt.Fprintf(&tokens, ",%q", user.groups)
		}
		tokens.WriteByte('\n')
		if err := b.writeKubeconfig(user.file, token); err != nil {
			return err
		}
	}
	return os.WriteFile(b.path("tokens.csv"), []byte(tokens.String()), 0o600)
}

func (b *bed) writeKubeconfig(user, token string) error {
	config := clientapi.NewConfig()
	config.Clusters["testbed"] = &clientapi.Cluster{Server: b.server(), CertificateAuthorityData: b.ca}
	config.AuthInfos[user] = &clientapi.AuthInfo{Token: token}
	config.Contexts["testbed"] = &clientapi.Context{Cluster: "testbed", AuthInfo: user}
	config.CurrentContext = "testbed"
	return clientcmd.WriteToFile(*config, b.path(user+".kubeconfig"))
}
