//go:build !linux

// Systems without the help of the Linux kernel: children outlive a supervisor
// that is killed hard, and two testbeds may race for a port.
package main

import (
	"net"
	"syscall"
)

func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func claim(int) (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") }
