package main

import (
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// write writes a file of the test's own and returns its path.
func write(t *testing.T, name, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // whatever the umask is
		t.Fatal(err)
	}
	return path
}

// What has a variable has a key, and the reverse.
func TestConfigKeys(t *testing.T) {
	var line cli
	parser, err := newParser(&line, io.Discard, io.Discard, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	variables := map[string]bool{}
	for _, command := range parser.Model.Children {
		for _, flag := range command.Flags {
			for _, variable := range flag.Envs {
				variables[strings.ToLower(strings.TrimPrefix(variable, "REDLOCK_"))] = true
				if want := "REDLOCK_" + strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_")); variable != want {
					t.Errorf("--%s has the variable %s, want %s", flag.Name, variable, want)
				}
			}
		}
	}
	delete(variables, "config")
	keys := map[string]bool{}
	for field := range reflect.TypeFor[settings]().Fields() {
		keys[field.Tag.Get("toml")] = true
		if !strings.Contains(configTopic, "\n  "+field.Tag.Get("toml")+" ") {
			t.Errorf("redlock help config does not show %s", field.Tag.Get("toml"))
		}
	}
	if !maps.Equal(keys, variables) {
		t.Errorf("keys are %v, want %v, as there are variables", slices.Sorted(maps.Keys(keys)), slices.Sorted(maps.Keys(variables)))
	}
}

// The examples of redlock help config and of the docs are configuration files.
func TestConfigExample(t *testing.T) {
	for _, in := range []struct{ text, begin, end string }{{configTopic, "\n\n", "\n\n"}, {readFile(t, "../../docs/command.md"), "```toml\n", "```"}} {
		_, example, _ := strings.Cut(in.text, in.begin)
		example, _, _ = strings.Cut(example, in.end)
		if values, err := readConfig(write(t, "redlock.toml", example, 0o600)); err != nil || len(values) == 0 {
			t.Errorf("%v: %v in\n%s", err, values, example)
		}
	}
}

// Flags win over the environment, and that over the file.
func TestConfigPrecedence(t *testing.T) {
	fleet, flags := masters(t, 3)
	take(t, fleet, "of-the-file")
	path := write(t, "redlock.toml", `
		masters = ["`+strings.Join(fleet.URLs(), `", "`)+`"]
		restart_guard = "off"
		name = "of-the-file"
		wait = "0s"
		lease = "20s"
	`, 0o600)
	for _, c := range []struct {
		name string
		args []string
		env  []string
		code int
		says string // stderr
	}{
		{"file", []string{"run", "--config", path, "--", "true"}, nil, exitTaken, `tried once: lock "of-the-file"`},
		{"file of the environment", []string{"run", "--", "true"}, []string{"REDLOCK_CONFIG=" + path}, exitTaken, `lock "of-the-file"`},
		{"environment", []string{"run", "--config", path, "--", "true"}, []string{"REDLOCK_NAME=x"}, 0, ""},
		{"flag", []string{"run", "--config", path, "--name", "x", "--", "true"}, []string{"REDLOCK_NAME=of-the-file"}, 0, ""},
		{"argument", []string{"run", "--config", path, "x", "--", "true"}, nil, 0, ""},
		{"flag that excludes a key", []string{"run", "--config", path, "--no-wait", "--", "true"}, nil, exitTaken, `tried once`},
		{"masters of the environment", []string{"inspect", "--config", path, "n"}, []string{"REDLOCK_MASTERS=http://x"}, exitUsage, "REDLOCK_MASTERS[0]"},
		{"masters of a flag", line("inspect", flags, "n"), []string{"REDLOCK_CONFIG=" + write(t, "r.toml", `masters = ["http://x"]`, 0o600)}, exitNo, ""},
		{"error in the file", []string{"run", "--config", path, "--max-lease=10s", "--", "true"}, nil, exitUsage, path + ": lease 20s is longer than --max-lease 10s"},
		{"argument of hold", []string{"hold", "--config", path, "of-the-file"}, []string{"REDLOCK_NAME=x"}, exitTaken, `lock "of-the-file"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			command(t, c.args...).env(c.env...).start().wantCode(c.code).wantError(c.says)
		})
	}
}

// What is wrong in a file is said with its line or key, and without a password.
func TestConfigRefuses(t *testing.T) {
	for _, c := range []struct{ name, text, says string }{
		{"unknown key", "lease = '30s'\nleese = '30s'\n", `F:2: there is no setting "leese"`},
		{"unknown table", "[tls]\nca = 'x'\n", `F:1: there is no setting "tls"`},
		{"key with a dash", "max-lease = '30s'\n", `F:1: there is no setting "max-lease"`},
		{"key twice", "lease = '30s'\nlease = '30s'\n", "F:2: lease: key lease is already defined"},
		{"no value", "lease\n", "F:1: expected '='"},
		{"duration without a unit", "lease = 30\n", `F: lease: "30" is not a duration longer than 0, such as 30s`},
		{"duration that is too long for kong to see", "\nwait = '-1s'\n", `F: wait: "-1s" is neither a duration such as 10s nor 0`},
		{"guard", "restart_guard = 'often'\n", `F: restart_guard: "often" is neither`},
		{"masters that are no list", "masters = 'open-sesame@a,b'\n", "F:1: masters: it cannot be a TOML string (redlock help config has an example)"},
		{"password that is no text", "password = 12345\n", "F:1: password: it cannot be a TOML integer"},
		{"both passwords", "masters = ['m']\npassword = 'open-sesame'\npassword_file = 'x'\n", "F: password and F: password_file cannot be used together"},
		{"password file that is not there", "masters = ['m']\npassword_file = 'not/there'\n", "F: password_file: open "},
		{"user without a password", "masters = ['m']\nusername = 'u'\n", "F: username is set, and there is no password"},
		{"TLS for nobody", "masters = ['m']\ntls_server_name = 'x'\n", "F: tls_server_name is of no use: no URL in F: masters begins with rediss://"},
		{"key without a certificate", "masters = ['rediss://m']\ntls_key = 'x'\n", "F: tls_key is of no use without --tls-cert"},
		{"bad master", "masters = ['http://:open-sesame@x']\n", "F: masters[0]: not a Redis URL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := write(t, "redlock.toml", c.text, 0o600)
			i := command(t, "run", "--config", path, "--name", "n", "--", "true").start().wantCode(exitUsage)
			i.wantError(strings.ReplaceAll(strings.ReplaceAll(c.says, "F: ", path+": "), "F:", path+":"))
			if strings.Contains(i.stderr.String(), "12345") {
				t.Errorf("the password is in the error: %s", &i.stderr)
			}
		})
	}
	command(t, "inspect", "--config", "not/there.toml", "n").start().wantCode(exitUsage).wantError("not/there.toml")
}

// A file that everybody can read should have no password.
func TestConfigExposed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("permissions are no mode there")
	}
	for _, c := range []struct {
		name, text string
		mode       os.FileMode
		warned     bool
	}{
		{"password", "masters = ['127.0.0.1:1']\npassword = 'open-sesame'", 0o644, true},
		{"password in a URL", "masters = ['redis://:open-sesame@127.0.0.1:1']", 0o604, true},
		{"password, for the owner's group", "masters = ['127.0.0.1:1']\npassword = 'open-sesame'", 0o640, false},
		{"no password", "masters = ['127.0.0.1:1']", 0o644, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := write(t, "redlock.toml", c.text, c.mode)
			i := command(t, "inspect", "--config", path, "n").start().wantCode(exitNoQuorum)
			warning := "redlock: warning: everybody on this machine can read the password in " + path
			if got := strings.Contains(i.stderr.String(), warning); got != c.warned {
				t.Errorf("stderr is %q, warned: %t, want %t", &i.stderr, got, c.warned)
			}
		})
	}
}

// A user and a password come from wherever they are, for the masters whose URL has none.
func TestCredentials(t *testing.T) {
	of := func(password string) string { return write(t, "password", password+"\n", 0o600) }
	for _, c := range []struct {
		name string
		args []string
		env  []string
		file string
		code int
	}{
		{name: "environment", env: []string{"REDLOCK_PASSWORD=open-sesame"}, code: exitNo},
		{name: "user", env: []string{"REDLOCK_USERNAME=default", "REDLOCK_PASSWORD=open-sesame"}, code: exitNo},
		{name: "another user", env: []string{"REDLOCK_USERNAME=other", "REDLOCK_PASSWORD=open-sesame"}, code: exitNoQuorum},
		{name: "file of the environment", env: []string{"REDLOCK_PASSWORD_FILE=" + of("open-sesame")}, code: exitNo},
		{name: "flag", args: []string{"--password-file", of("open-sesame")}, env: []string{"REDLOCK_PASSWORD=wrong"}, code: exitNo},
		{name: "key", file: "password = 'open-sesame'", code: exitNo},
		{name: "environment over key", env: []string{"REDLOCK_PASSWORD=open-sesame"}, file: "password_file = 'not/there'", code: exitNo},
		{name: "file of the environment over key", env: []string{"REDLOCK_PASSWORD_FILE=" + of("open-sesame")}, file: "password = 'wrong'", code: exitNo},
		{name: "both", env: []string{"REDLOCK_PASSWORD=a", "REDLOCK_PASSWORD_FILE=b"}, code: exitUsage},
		{name: "empty file", args: []string{"--password-file", of("")}, code: exitUsage},
		{name: "password as a flag", args: []string{"--password=open-sesame"}, code: exitUsage},
		{name: "none", code: exitNoQuorum},
	} {
		t.Run(c.name, func(t *testing.T) {
			fleet, flags := masters(t, 3)
			for k := range fleet.URLs() {
				fleet.Master(k).Password("open-sesame")
			}
			// One has its own, which wins.
			flags[1] = strings.Replace(flags[1], "redis://", "redis://:open-sesame@", 1)
			flags[1] = strings.ReplaceAll(flags[1], ",redis://", ",")
			i := command(t, append(line("inspect", flags, c.args...), "--config", write(t, "redlock.toml", c.file, 0o600), "n")...).env(c.env...).start()
			i.wantCode(c.code)
		})
	}
}

// Passwords may have any characters, and URLs any form.
func TestCredentialsInto(t *testing.T) {
	given := []string{"m1", "m2:1", "redis://m3", "rediss://m4:1/2", "unix:///s?db=1", "/s x", "[::1]:7", "redis://u@m5", "redis://:p@m6", "no master:"}
	want := []string{
		"redis://us%40er:p%2F%3F@m1", "redis://us%40er:p%2F%3F@m2:1", "redis://us%40er:p%2F%3F@m3", "rediss://us%40er:p%2F%3F@m4:1/2",
		"unix://us%40er:p%2F%3F@/s?db=1", "unix://us%40er:p%2F%3F@/s%20x", "redis://us%40er:p%2F%3F@[::1]:7", "redis://u@m5", "redis://:p@m6", "no master:",
	}
	got, err := credentials{"us@er", "p/?"}.into(given, origins{})
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("into = %q, %v, want %q", got, err, want)
	}
}
