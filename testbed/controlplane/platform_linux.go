// What only Linux offers: children that die with their parent, and claims on
// ports that vanish with the process that made them.
package main

import (
	"fmt"
	"net"
	"syscall"
)

// dieWithParent ends a child when the supervisor is killed. The process group
// of its own keeps Ctrl-C from reaching the child before the supervisor.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// claim reserves a port among testbeds, also while nothing listens on it.
func claim(port int) (net.Listener, error) {
	return net.Listen("unix", fmt.Sprintf("@windlass-testbed-port-%d", port))
}
