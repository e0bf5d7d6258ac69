// Child processes that never outlive this one: all are started from one thread
// that lives as long as the program, because the kernel ends a child when the
// thread that started it ends.
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

type child struct {
	cmd  *exec.Cmd
	log  string
	done chan struct{}
	err  error // how it ended; set when done is closed

	asked atomic.Bool // to end
}

type spawner struct{ work chan func() }

func newSpawner() *spawner {
	s := &spawner{work: make(chan func())}
	go func() {
		runtime.LockOSThread()
		for job := range s.work {
			job()
		}
	}()
	return s
}

// start runs a program with its output appended to a log file.
func (s *spawner) start(program string, args []string, dir, log string) (*child, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Dir = dir
	// A home of its own keeps the user's settings (of kwok, of kubectl) out.
	cmd.Env = append(os.Environ(), "HOME="+dir)
	cmd.SysProcAttr = dieWithParent()
	started := make(chan error)
	s.work <- func() { started <- cmd.Start() }
	if err := <-started; err != nil {
		return nil, err
	}
	c := &child{cmd: cmd, log: log, done: make(chan struct{})}
	go func() {
		c.err = cmd.Wait()
		close(c.done)
	}()
	return c, nil
}

func (c *child) pid() int { return c.cmd.Process.Pid }

func (c *child) alive() bool {
	select {
	case <-c.done:
		return false
	default:
		return true
	}
}

// stop asks the child to end, and makes it end when patience is over.
func (c *child) stop(patience time.Duration) {
	c.asked.Store(true)
	if patience > 0 && c.alive() {
		c.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-c.done:
		case <-time.After(patience):
		}
	}
	if c.alive() {
		c.cmd.Process.Kill()
	}
	<-c.done
}

// janitor is a process that removes a folder when its input ends: it outlives a
// supervisor that is killed, so that not even then anything is left.
type janitor struct {
	cmd   *exec.Cmd
	input io.Closer
}

func newJanitor(dir string) (*janitor, error) {
	script := `cat >/dev/null; for try in 1 2 3 4 5; do rm -rf -- "$1" && exit; sleep 0.2; done`
	cmd := exec.Command("sh", "-c", script, "testbed-janitor", dir)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	return &janitor{cmd, input}, cmd.Start()
}

// clean lets the janitor do its work and waits for it.
func (j *janitor) clean() error {
	j.input.Close()
	return j.cmd.Wait()
}

// mourn reports a child that ends without having been asked to.
func (c *child) mourn(name string) {
	<-c.done
	if !c.asked.Load() {
		fmt.Fprintf(os.Stderr, "testbed: %s ended by itself (%v); the end of %s:\n%s\n", name, c.err, c.log, tail(c.log, 30))
	}
}

// tail returns the last lines of a file.
func tail(file string, lines int) []byte {
	data, err := os.ReadFile(file)
	if err != nil {
		return []byte(err.Error())
	}
	all := bytes.Split(bytes.TrimRight(data, "\n"), []byte("\n"))
	return bytes.Join(all[max(0, len(all)-lines):], []byte("\n"))
}
