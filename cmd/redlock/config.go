package main

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/pelletier/go-toml/v2"
)

// settings are the keys of a configuration file: what can be set in the environment. REDLOCK_MAX_LEASE
// is max_lease there.
//
// The file is TOML, which has comments and lists and is not as forgiving as YAML, where an unquoted
// value may turn out to be a number or a time. go-toml is kept up, needs no other module, and says on
// which line a key stands that it does not know.
type settings struct {
	Masters      *list                         `toml:"masters"`
	Username     *word                         `toml:"username"`
	Password     *word                         `toml:"password"`
	PasswordFile *word                         `toml:"password_file"`
	TLSCA        *word                         `toml:"tls_ca"`
	TLSCert      *word                         `toml:"tls_cert"`
	TLSKey       *word                         `toml:"tls_key"`
	TLSServer    *word                         `toml:"tls_server_name"`
	NodeTimeout  *checked[positive, *positive] `toml:"node_timeout"`
	MaxLease     *checked[positive, *positive] `toml:"max_lease"`
	RestartGuard *checked[guard, *guard]       `toml:"restart_guard"`
	Name         *names                        `toml:"name"`
	Lease        *checked[positive, *positive] `toml:"lease"`
	Wait         *checked[patience, *patience] `toml:"wait"`
	Grace        *checked[patience, *patience] `toml:"grace"`
	ClientName   *word                         `toml:"client_name"`
	Verbose      *truth                        `toml:"verbose"`
}

// value is an entry of a configuration file.
type value interface {
	flag() (string, error) // the text that a flag would have, or what is wrong with it
}

type word string

func (w *word) flag() (string, error) { return string(*w), nil }

type list []string

func (l *list) flag() (string, error) { return kong.JoinEscaped(*l, ','), nil }

// UnmarshalText refuses what is no list.
func (*list) UnmarshalText([]byte) error { return errors.New(`write a list: ["a", "b"]`) }

type truth bool

func (t *truth) flag() (string, error) { return strconv.FormatBool(bool(*t)), nil }

// names are one name or a list of them.
type names []string

func (n *names) flag() (string, error) { return kong.JoinEscaped(*n, '\n'), nil }

// UnmarshalText takes a name that is no list.
func (n *names) UnmarshalText(text []byte) error {
	*n = names{string(text)}
	return nil
}

// checked is text that a T accepts. It is checked late, when the key is known.
type checked[T any, P interface {
	*T
	encoding.TextUnmarshaler
}] struct{ text []byte }

func (c *checked[T, P]) flag() (string, error) {
	return string(c.text), P(new(T)).UnmarshalText(c.text)
}

// UnmarshalText keeps the text, which is also that of a number without quotes.
func (c *checked[T, P]) UnmarshalText(text []byte) error {
	c.text = bytes.Clone(text)
	return nil
}

// files are the keys whose values are paths, which are relative to the configuration file.
var files = []string{"password_file", "tls_ca", "tls_cert", "tls_key"}

// configFile is what the file that --config names says. It is a [kong.Resolver].
type configFile struct {
	path   string
	loaded bool
	values map[string]string // by the name of the flag
	err    error             // why it could not be used
}

// Validate does nothing: keys have been checked when they were read.
func (*configFile) Validate(*kong.Application) error { return nil }

// Resolve returns what the file says of flag, unless the environment says something.
func (c *configFile) Resolve(ctx *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if len(flag.Envs) == 0 || flag.Name == "config" {
		return nil, nil // --name of inspect, for example, is not that of run
	}
	for _, variable := range flag.Envs {
		if _, set := os.LookupEnv(variable); set {
			return nil, nil
		}
	}
	if !c.loaded {
		c.loaded = true
		if c.path = configPath(ctx); c.path != "" {
			c.values, c.err = readConfig(c.path)
		}
	}
	text, ok := c.values[flag.Name]
	if !ok {
		return nil, nil
	}
	return text, nil
}

// configPath returns which file to read, if any.
func configPath(ctx *kong.Context) string {
	for _, element := range ctx.Path {
		if element.Flag != nil && element.Flag.Name == "config" {
			path, _ := ctx.FlagValue(element.Flag).(string)
			return path
		}
	}
	return os.Getenv("REDLOCK_CONFIG")
}

// readConfig reads a file, and returns its entries by the names of the flags.
func readConfig(path string) (map[string]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all settings
	if err := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(&all); err != nil {
		return nil, whereWrong(path, err)
	}
	values := make(map[string]string)
	fields := reflect.ValueOf(all)
	for i := range fields.NumField() {
		if fields.Field(i).IsNil() {
			continue
		}
		key := fields.Type().Field(i).Tag.Get("toml")
		text, err := fields.Field(i).Interface().(value).flag()
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, key, err)
		}
		for _, file := range files {
			if key == file && text != "" && !filepath.IsAbs(text) {
				text = filepath.Join(filepath.Dir(path), text)
			}
		}
		values[strings.ReplaceAll(key, "_", "-")] = text
	}
	return values, nil
}

// whereWrong says on which line of the file something is wrong, and what.
func whereWrong(path string, err error) error {
	if unknown, ok := errors.AsType[*toml.StrictMissingError](err); ok {
		first := unknown.Errors[0]
		row, _ := first.Position()
		return fmt.Errorf("%s:%d: there is no setting %q (redlock help config lists them)", path, row, strings.Join(first.Key(), "."))
	}
	if wrong, ok := errors.AsType[*toml.DecodeError](err); ok {
		row, _ := wrong.Position()
		reason := strings.TrimPrefix(wrong.Error(), "toml: ")
		if kind, ok := strings.CutPrefix(reason, "cannot decode TOML "); ok {
			kind, _, _ = strings.Cut(kind, " ")
			reason = "it cannot be a TOML " + kind + " (redlock help config has an example)"
		}
		if key := strings.Join(wrong.Key(), "."); key != "" {
			reason = key + ": " + reason
		}
		return fmt.Errorf("%s:%d: %s", path, row, reason)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// exposed returns a warning if the file has a password that everybody on this machine can read.
func (c *configFile) exposed() string {
	secret := c.values["password"] != "" || strings.Contains(c.values["masters"], "@")
	if !secret || runtime.GOOS == "windows" { // whose permissions are not in the mode
		return ""
	}
	info, err := os.Stat(c.path)
	if err != nil || info.Mode().Perm()&0o004 == 0 {
		return ""
	}
	return fmt.Sprintf("everybody on this machine can read the password in %s: chmod o-r %s", c.path, c.path)
}
