package script

import "testing"

// TestReadRecord: what no client publishes is no record, such as a time that JSON cannot have.
func TestReadRecord(t *testing.T) {
	for text, want := range map[string]bool{
		`{"name":"a","host":"h","pid":1,"since":1795280779002,"at":1795280779002}`: true,
		`{"since":900000000000000000,"at":1}`:                                      false,
		`{"since":1,"at":900000000000000000}`:                                      false,
		`{"since":-1,"at":1}`:                                                      false,
		`{"since":"now"}`:                                                          false,
		`what`:                                                                     false,
	} {
		if _, ok := ReadRecord([]byte(text)); ok != want {
			t.Errorf("ReadRecord(%s): ok = %v, want %v", text, ok, want)
		}
	}
	if _, ok := ReadRecord(nil); ok {
		t.Error("ReadRecord(nil): ok = true")
	}
}
