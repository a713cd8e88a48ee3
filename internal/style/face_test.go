package style_test

import (
	"go/types"
	"testing"
)

// face are the packages that users import.
var face = []string{"redlock", "redlockadmin", "redlocktrace", "redlocktest", "doctor"}

// TestFaceIsWhole: whatever a user can reach from these packages is declared in one of them, so go doc shows it there:
// no exported type, field, function or method has a type of a package that is none of their business.
func TestFaceIsWhole(t *testing.T) {
	public := map[string]bool{}
	for _, name := range face {
		public[module+"/"+name] = true
	}
	seen := 0
	exports := exportsOf(t, ".", "./redlockadmin", "./redlocktest", "./doctor")
	for _, name := range face {
		pkg, err := exports.Import(module + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, declared := range pkg.Scope().Names() {
			object := pkg.Scope().Lookup(declared)
			if !object.Exported() {
				continue
			}
			seen++
			reachable(object.Type(), map[types.Type]bool{}, func(of *types.TypeName) (goOn bool) {
				switch in := of.Pkg(); {
				case in == nil || !under(in.Path(), module):
					return false
				case !public[in.Path()]:
					t.Errorf("%s.%s leads its users to %s.%s", name, declared, room(in.Path()), of.Name())
					return false
				}
				return true
			})
		}
	}
	if seen < 60 {
		t.Errorf("only %d exported objects were found, this test looks in the wrong place", seen)
	}
}

// reachable calls f for each declared type that a user of t gets from it. It looks into those for which f is true.
func reachable(t types.Type, seen map[types.Type]bool, f func(*types.TypeName) bool) {
	if seen[t] {
		return
	}
	seen[t] = true
	next := func(t types.Type) { reachable(t, seen, f) }
	switch t := t.(type) {
	case *types.Alias:
		if f(t.Obj()) {
			next(t.Rhs())
		}
	case *types.Named:
		for arg := range t.TypeArgs().Types() {
			next(arg)
		}
		if !f(t.Obj()) {
			return
		}
		for m := range t.Methods() {
			if m.Exported() {
				next(m.Type())
			}
		}
		next(t.Underlying())
	case *types.Struct:
		for field := range t.Fields() {
			if field.Exported() {
				next(field.Type())
			}
		}
	case *types.Interface:
		for m := range t.Methods() {
			if m.Exported() {
				next(m.Type())
			}
		}
	case *types.Signature:
		next(t.Params())
		next(t.Results())
	case *types.Tuple:
		for v := range t.Variables() {
			next(v.Type())
		}
	case *types.Map:
		next(t.Key())
		next(t.Elem())
	case interface{ Elem() types.Type }: // a pointer, a slice, an array, a channel
		next(t.Elem())
	}
}
