package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/pelletier/go-toml/v2"
)

// settings returns a struct with the keys of a configuration file: a field for each flag that has a variable, but
// --config. REDLOCK_MAX_LEASE is max_lease there.
//
// The file is TOML, which has comments and lists and is not as forgiving as YAML, where an unquoted
// value may turn out to be a number or a time. go-toml is kept up, needs no other module, and says on
// which line a key stands that it does not know.
func settings(model *kong.Application) reflect.Value {
	var fields []reflect.StructField
	for _, command := range model.Children {
		for _, flag := range command.Flags {
			tag := reflect.StructTag(fmt.Sprintf("toml:%q", keyOf(flag)))
			if !hasKey(flag) || slices.ContainsFunc(fields, func(f reflect.StructField) bool { return f.Tag == tag }) {
				continue
			}
			kind := flag.Target.Type()
			if kind.Kind() == reflect.Pointer {
				kind = kind.Elem()
			}
			if kind.Kind() == reflect.Int64 { // a duration
				kind = reflect.TypeFor[literal]()
			}
			fields = append(fields, reflect.StructField{Name: fmt.Sprint("Field", len(fields)), Type: reflect.PointerTo(kind), Tag: tag})
		}
	}
	return reflect.New(reflect.StructOf(fields))
}

// hasKey reports whether a configuration file can set the flag.
func hasKey(flag *kong.Flag) bool { return len(flag.Envs) > 0 && flag.Name != "config" }

// keyOf returns the key that sets the flag.
func keyOf(flag *kong.Flag) string { return strings.ReplaceAll(flag.Name, "-", "_") }

// literal is text, or a number without quotes, which the flag refuses better than TOML would.
type literal string

// UnmarshalText keeps the text.
func (l *literal) UnmarshalText(text []byte) error {
	*l = literal(text)
	return nil
}

// configFile is what the file that --config names says.
type configFile struct {
	path   string
	loaded bool
	values map[string]any // by the key
	err    error          // why it could not be used
}

// resolve returns what the file says of flag, unless the environment says something.
func (c *configFile) resolve(ctx *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if !hasKey(flag) {
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
			c.values, c.err = readConfig(ctx.Model, c.path)
		}
	}
	value := c.values[keyOf(flag)]
	if file, _ := value.(string); isFile(flag) && file != "" && !filepath.IsAbs(file) {
		return filepath.Join(filepath.Dir(c.path), file), nil
	}
	return value, nil
}

// isFile reports whether the flag's value is a path. In a configuration file it is relative to that.
func isFile(flag *kong.Flag) bool { return flag.Tag.Get("predictor") == "file" }

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

// readConfig reads a file, and returns its entries by their keys.
func readConfig(model *kong.Application, path string) (map[string]any, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	all := settings(model)
	if err := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(all.Interface()); err != nil {
		return nil, whereWrong(path, err)
	}
	values := make(map[string]any)
	for field, value := range all.Elem().Fields() {
		if !value.IsNil() {
			values[field.Tag.Get("toml")] = value.Elem().Interface()
		}
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

// exposed returns a warning for each file with a password that everybody on this machine can read.
func (c *configFile) exposed(parsed *kong.Context) (warnings []string) {
	var files []string
	if password, _ := c.values["password"].(string); password != "" || strings.Contains(fmt.Sprint(c.values["masters"]), "@") {
		files = append(files, c.path)
	}
	for _, flag := range parsed.Flags() {
		if file, _ := parsed.FlagValue(flag).(string); flag.Name == "password-file" && file != "" {
			files = append(files, file)
		}
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if err == nil && info.Mode().Perm()&0o004 != 0 && runtime.GOOS != "windows" { // whose permissions are not in the mode
			warnings = append(warnings, fmt.Sprintf("everybody on this machine can read the password in %s: chmod o-r %s", file, file))
		}
	}
	return warnings
}

// origins has the name to use for each flag in an error, by where its value came from: "--lease" for
// the command line, "REDLOCK_LEASE" for the environment, "redlock.toml: lease" for a configuration file.
type origins map[string]string

func originsOf(parsed *kong.Context, file *configFile) origins {
	from := make(origins)
	for _, flag := range parsed.Flags() {
		from[flag.Name] = "--" + flag.Name
		if _, ok := file.values[keyOf(flag)]; ok && hasKey(flag) {
			from[flag.Name] = file.path + ": " + keyOf(flag)
		}
		for _, variable := range flag.Envs {
			if _, set := os.LookupEnv(variable); set {
				from[flag.Name] = variable
			}
		}
	}
	for _, element := range parsed.Path {
		if element.Flag != nil && !element.Resolved {
			from[element.Flag.Name] = "--" + element.Flag.Name
		}
	}
	return from
}

// onLine reports whether the flag's value is from the command line or is its default.
func (from origins) onLine(flag string) bool { return from[flag] == "--"+flag }

// rank is higher for a value that wins: 2 on the command line, 1 in the environment, 0 in a file.
func (from origins) rank(flag string) int {
	switch {
	case from.onLine(flag):
		return 2
	case strings.HasPrefix(from[flag], "REDLOCK_"):
		return 1
	}
	return 0
}
