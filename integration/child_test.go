//go:build unix

package integration

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// child is this program again, as a process that a test can stop or kill: it runs the same test, which finds out by
// inChild that it is to be the other side. It says lines of JSON until its input ends.
type child struct {
	*exec.Cmd
	in   io.Closer
	says *bufio.Scanner
}

const childMasters = "REDLOCK_TEST_CHILD_MASTERS"

// child starts a process for the test that f belongs to.
func (f *fleet) child(ctx context.Context, args ...string) *child {
	f.t.Helper()
	c := &child{Cmd: exec.CommandContext(ctx, os.Args[0], append(args, "-test.run=^"+f.t.Name()+"$")...)}
	c.Env = append(os.Environ(), childMasters+"="+strings.Join(f.urls(), ","))
	out, err := c.StdoutPipe()
	did(f.t, err)
	c.in, err = c.StdinPipe()
	did(f.t, err)
	did(f.t, c.Start())
	c.says = bufio.NewScanner(out)
	return c
}

// inChild returns where the masters are, and a context that ends with the input, if this process is a child.
func inChild(t *testing.T) (context.Context, []string) {
	urls := os.Getenv(childMasters)
	if urls == "" {
		return nil, nil
	}
	ctx, end := context.WithCancel(t.Context())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		end()
	}()
	return ctx, strings.Split(urls, ",")
}

// say has a child say something.
func say(what any) {
	line, _ := json.Marshal(what)
	fmt.Println(string(line))
}
