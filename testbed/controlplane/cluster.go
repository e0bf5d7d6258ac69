// What must be inside a fresh cluster before a test can use it: nodes, the
// rights of its users, and the account that every pod needs.
package main

import (
	"context"
	"fmt"
	"time"

	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

func (b *bed) client() (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", b.path("admin.kubeconfig"))
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst, config.Timeout = 1000, 1000, 10*time.Second
	config.UserAgent = "testbed"
	return kubernetes.NewForConfig(config)
}

// makeNodes makes nodes that are ready and can hold any number of pods, spread
// over three zones.
func (b *bed) makeNodes(ctx context.Context) error {
	client, err := b.client()
	if err != nil {
		return err
	}
	for i := range b.opts.nodes {
		if err := makeNode(ctx, client, i); err != nil {
			return fmt.Errorf("node %d: %w", i, err)
		}
	}
	return nil
}

func makeNode(ctx context.Context, client kubernetes.Interface, index int) error {
	name := fmt.Sprintf("node-%d", index)
	nodes := client.CoreV1().Nodes()
	node, err := nodes.Create(ctx, &core.Node{ObjectMeta: meta.ObjectMeta{Name: name, Labels: map[string]string{
		core.LabelHostname:       name,
		core.LabelOSStable:       "linux",
		core.LabelArchStable:     "amd64",
		core.LabelTopologyRegion: "region-a",
		core.LabelTopologyZone:   fmt.Sprintf("zone-%c", 'a'+index%3),
	}}}, meta.CreateOptions{})
	if errors.IsAlreadyExists(err) {
		return nil
	}
	if err != nil {
		return err
	}
	node.Status = nodeStatus(name, index)
	if node, err = nodes.UpdateStatus(ctx, node, meta.UpdateOptions{}); err != nil {
		return err
	}
	// Admission taints every new node as not ready; nothing here would untaint it.
	node.Spec.Taints = nil
	_, err = nodes.Update(ctx, node, meta.UpdateOptions{})
	return err
}

func nodeStatus(name string, index int) core.NodeStatus {
	room := core.ResourceList{
		core.ResourcePods:   resource.MustParse("10000"),
		core.ResourceCPU:    resource.MustParse("10000"),
		core.ResourceMemory: resource.MustParse("10Ti"),
	}
	now := meta.Now()
	return core.NodeStatus{
		Capacity:    room,
		Allocatable: room,
		Conditions: []core.NodeCondition{{
			Type: core.NodeReady, Status: core.ConditionTrue, Reason: "Testbed",
			LastHeartbeatTime: now, LastTransitionTime: now,
		}},
		Addresses: []core.NodeAddress{
			{Type: core.NodeInternalIP, Address: fmt.Sprintf("10.0.%d.%d", index/250, index%250+1)},
			{Type: core.NodeHostName, Address: name},
		},
		NodeInfo: core.NodeSystemInfo{Architecture: "amd64", OperatingSystem: "linux", KubeletVersion: "v1.36.4"},
	}
}

// bindUsers lets the plain users do everything; they differ from the admin in
// name and group only, which is what admission policies look at.
func (b *bed) bindUsers(ctx context.Context) error {
	client, err := b.client()
	if err != nil {
		return err
	}
	for _, user := range []string{"developer", "gitops"} {
		_, err := client.RbacV1().ClusterRoleBindings().Create(ctx, &rbac.ClusterRoleBinding{
			ObjectMeta: meta.ObjectMeta{Name: "testbed-" + user},
			RoleRef:    rbac.RoleRef{APIGroup: rbac.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects:   []rbac.Subject{{APIGroup: rbac.GroupName, Kind: rbac.UserKind, Name: user}},
		}, meta.CreateOptions{})
		if err != nil && !errors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

// waitForAccounts waits for the account of pods in the default namespace:
// without it pods are refused, and it shows that the controllers work.
func (b *bed) waitForAccounts(ctx context.Context) error {
	client, err := b.client()
	if err != nil {
		return err
	}
	for {
		_, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", meta.GetOptions{})
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the controllers made no service account in time: %w", err)
		case <-time.After(25 * time.Millisecond):
		}
	}
}
