package style_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLongForms: make sim runs TestSim and the tests that end in Long, so those that do less with -short
// have such a name, and no others.
func TestLongForms(t *testing.T) {
	function := regexp.MustCompile(`(?ms)^func (Test\w+)\(.*?^}$`)
	for _, folder := range []string{"redlock", "multilock", "node"} {
		names, err := filepath.Glob(folder + "/*_test.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			for _, test := range function.FindAllStringSubmatch(read(t, name), -1) {
				short := strings.Contains(test[0], "portion(") || strings.Contains(test[0], "testing.Short()")
				if long := test[1] == "TestSim" || strings.HasSuffix(test[1], "Long"); short != long {
					t.Errorf("%s: does %s do less with -short: %t; is it named so: %t", name, test[1], short, long)
				}
			}
		}
	}
}
