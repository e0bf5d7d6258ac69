// The `testbed` command: it reads the flags, brings a control plane up, says
// where it is, and takes everything down again at the end.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

const usage = `testbed up [flags] starts a Kubernetes control plane on loopback, with kwok playing the kubelets.

  testbed up               prints one JSON line when ready; ends when its input ends, or on SIGTERM
  testbed up --foreground  the same for people: Ctrl-C ends it

While it runs it takes commands on its input, one a line: stop NAME, start NAME, restart NAME.

Flags:
`

type options struct {
	dir            string
	stages         string
	nodes          int
	mutatingPolicy bool
	featureGates   string
	keep           bool
	foreground     bool
}

func testbed(args []string) int {
	opts := options{}
	set := flag.NewFlagSet("testbed up", flag.ContinueOnError)
	set.StringVar(&opts.dir, "dir", "", "folder for data, logs and kubeconfigs; kept at the end (default: a temporary one, removed at the end)")
	set.StringVar(&opts.stages, "stages", "", "kwok stages (default: stages.yaml next to this program)")
	set.IntVar(&opts.nodes, "nodes", 4, "number of nodes")
	set.BoolVar(&opts.mutatingPolicy, "mutating-policy", true, "serve MutatingAdmissionPolicy")
	set.StringVar(&opts.featureGates, "feature-gates", "", "of the API server and the controllers, such as MaxUnavailableStatefulSet=true")
	set.BoolVar(&opts.keep, "keep", false, "keep the temporary folder at the end")
	set.BoolVar(&opts.foreground, "foreground", false, "for people: ignore the end of input, print what runs in words")
	set.Usage = func() { fmt.Fprint(os.Stderr, usage); set.PrintDefaults() }
	if len(args) == 0 || args[0] != "up" {
		set.Usage()
		return 2
	}
	if set.Parse(args[1:]) != nil || set.NArg() != 0 {
		return 2
	}
	if err := up(opts); err != nil {
		fmt.Fprintln(os.Stderr, "testbed:", err)
		return 1
	}
	return 0
}

// up runs a testbed from start to end.
func up(opts options) error {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer cancel()
	b, err := newBed(opts)
	if err != nil {
		return err
	}
	defer b.close()
	if !opts.foreground {
		// The caller may be gone before the testbed is ready.
		ctx = b.readCommands(ctx)
	}
	if err := b.startAll(ctx); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("ended before it was ready")
		}
		return err
	}
	b.announce()
	b.serve(ctx)
	return nil
}

// newBed lays out the folder of a testbed; nothing runs yet.
func newBed(opts options) (*bed, error) {
	bin, err := binFolder()
	if err != nil {
		return nil, err
	}
	b := &bed{opts: opts, bin: bin, commands: make(chan string), spawner: newSpawner(), children: map[string]*child{}}
	if opts.stages == "" {
		b.opts.stages = filepath.Join(bin, "stages.yaml")
	}
	if opts.dir == "" {
		if b.dir, err = os.MkdirTemp("", "windlass-testbed-"); err == nil && !opts.keep {
			b.janitor, err = newJanitor(b.dir)
		}
	} else if b.dir, err = filepath.Abs(opts.dir); err == nil {
		err = os.MkdirAll(b.dir, 0o755)
	}
	if err == nil {
		err = b.takePorts()
	}
	if err == nil {
		err = b.writeFiles()
	}
	if err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

// binFolder is where the sibling programs are: beside the name this program was
// called by, not beside the file that name points to, so that a folder of links
// can put other programs in their place.
func binFolder() (string, error) {
	self := os.Args[0]
	if !strings.ContainsRune(self, filepath.Separator) {
		found, err := exec.LookPath(self)
		if err != nil {
			return "", err
		}
		self = found
	}
	self, err := filepath.Abs(self)
	return filepath.Dir(self), err
}

// announce says on the output that everything is ready.
func (b *bed) announce() {
	if b.opts.foreground {
		fmt.Printf("A Kubernetes control plane with %d nodes runs at %s\n", b.opts.nodes, b.server())
		for _, c := range components {
			fmt.Printf("  %-24s pid %d\n", c.name, b.children[c.name].pid())
		}
		fmt.Printf("\nLogs: %s\nUse it:\n\n  export KUBECONFIG=%s\n  %s get nodes\n\nCtrl-C stops it.\n",
			b.path("logs"), b.path("admin.kubeconfig"), filepath.Join(b.bin, "kubectl"))
		return
	}
	pids := map[string]int{}
	for name, c := range b.children {
		pids[name] = c.pid()
	}
	say(struct {
		Dir       string         `json:"dir"`
		Admin     string         `json:"kubeconfig"`
		Developer string         `json:"developerKubeconfig"`
		GitOps    string         `json:"gitopsKubeconfig"`
		Audit     string         `json:"auditLog"`
		Bin       string         `json:"bin"`
		Server    string         `json:"server"`
		Etcd      string         `json:"etcd"`
		Pids      map[string]int `json:"pids"`
	}{b.dir, b.path("admin.kubeconfig"), b.path("developer.kubeconfig"), b.path("gitops.kubeconfig"),
		b.path("audit.log"), b.bin, b.server(), b.url("http", "etcd"), pids})
}

// say writes one JSON line on the output.
func say(value any) {
	line, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	os.Stdout.Write(append(line, '\n'))
}
