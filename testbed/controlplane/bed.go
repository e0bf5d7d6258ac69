// A bed is one running control plane: its folder, its ports and its children.
// This file holds its life from the first child to the last.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

type bed struct {
	opts     options
	dir      string
	bin      string
	janitor  *janitor // nil if the folder is kept
	spawner  *spawner
	commands chan string
	ports    map[string]int
	claims   []net.Listener // held to keep other testbeds off our ports
	ca       []byte

	lock     sync.Mutex
	children map[string]*child
}

func (b *bed) path(parts ...string) string {
	return filepath.Join(append([]string{b.dir}, parts...)...)
}

func (b *bed) server() string { return b.url("https", "kube-apiserver") }

func (b *bed) url(scheme, port string) string {
	return fmt.Sprintf("%s://%s", scheme, b.address(port))
}

func (b *bed) address(port string) string {
	return fmt.Sprintf("127.0.0.1:%d", b.ports[port])
}

// startAll starts the components in their order; those that only need the API
// server start side by side.
func (b *bed) startAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for _, name := range []string{"etcd", "kube-apiserver"} {
		if err := b.start(ctx, name); err != nil {
			return err
		}
	}
	rest := []func() error{
		func() error { return b.start(ctx, "kube-controller-manager") },
		func() error { return b.start(ctx, "kube-scheduler") },
		func() error {
			if err := b.makeNodes(ctx); err != nil {
				return err
			}
			return b.start(ctx, "kwok")
		},
		func() error { return b.bindUsers(ctx) },
	}
	results := make(chan error, len(rest))
	for _, step := range rest {
		go func() { results <- step() }()
	}
	var first error
	for range rest {
		if err := <-results; err != nil && first == nil {
			first = err
			cancel()
		}
	}
	if first != nil {
		return first
	}
	return b.waitForAccounts(ctx)
}

// start starts one component and waits until it is ready.
func (b *bed) start(ctx context.Context, name string) error {
	comp := component(name)
	if comp == nil {
		return fmt.Errorf("no component is called %q", name)
	}
	b.lock.Lock()
	old := b.children[name]
	b.lock.Unlock()
	if old != nil && old.alive() {
		return fmt.Errorf("%s runs already", name)
	}
	c, err := b.spawner.start(filepath.Join(b.bin, name), comp.args(b), b.dir, b.path("logs", name+".log"))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	b.lock.Lock()
	b.children[name] = c
	b.lock.Unlock()
	if err := b.waitReady(ctx, comp, c); err != nil {
		return fmt.Errorf("%s %w; the end of %s:\n%s", name, err, c.log, tail(c.log, 30))
	}
	go c.mourn(name)
	return nil
}

// waitReady polls the health address of a component until it answers or its
// process has ended.
func (b *bed) waitReady(ctx context.Context, comp *componentSpec, c *child) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		if b.healthy(ctx, comp.health(b)) {
			return nil
		}
		select {
		case <-c.done:
			return fmt.Errorf("ended before it was ready (%v)", c.err)
		case <-ctx.Done():
			return errors.New("did not get ready in time")
		case <-time.After(25 * time.Millisecond):
		}
	}
}

// stop ends one component and waits until it is gone.
func (b *bed) stop(name string) error {
	b.lock.Lock()
	c := b.children[name]
	b.lock.Unlock()
	if c == nil {
		return fmt.Errorf("no component is called %q", name)
	}
	c.stop(component(name).patience)
	return nil
}

// close ends all children and removes the folder unless it is kept. Children whose
// data nobody will read are ended at once; the others may finish their files.
func (b *bed) close() {
	patience := 2 * time.Second
	if b.janitor != nil {
		patience = 0
	}
	var wait sync.WaitGroup
	for _, c := range b.children {
		wait.Go(func() { c.stop(patience) })
	}
	wait.Wait()
	for _, claim := range b.claims {
		claim.Close()
	}
	if b.janitor != nil {
		if err := b.janitor.clean(); err != nil {
			fmt.Fprintln(os.Stderr, "testbed:", err)
		}
	}
}

// readCommands reads the input line by line; the context it returns ends when
// the input does.
func (b *bed) readCommands(parent context.Context) context.Context {
	ctx, cancel := context.WithCancel(parent)
	go func() {
		defer cancel()
		lines := bufio.NewScanner(os.Stdin)
		for lines.Scan() {
			if line := strings.TrimSpace(lines.Text()); line != "" {
				b.commands <- line
			}
		}
	}()
	return ctx
}

// serve answers commands until the context ends.
func (b *bed) serve(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case line := <-b.commands:
			b.answer(ctx, line)
		}
	}
}

func (b *bed) answer(ctx context.Context, line string) {
	verb, name, _ := strings.Cut(line, " ")
	name = strings.TrimSpace(name)
	var err error
	switch verb {
	case "stop":
		err = b.stop(name)
	case "start":
		err = b.start(ctx, name)
	case "restart":
		if err = b.stop(name); err == nil {
			err = b.start(ctx, name)
		}
	default:
		err = fmt.Errorf("unknown command %q: stop, start or restart a component", line)
	}
	if err != nil {
		say(map[string]any{"error": err.Error()})
		return
	}
	say(map[string]any{"done": line, "pid": b.children[name].pid()})
}
