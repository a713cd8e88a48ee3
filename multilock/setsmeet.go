package multilock

// SetsMeet reports whether majorities of two sets of masters always have a master in common, or names
// are spread over the sets on purpose: that of the processes with these run ids, empty where one is not
// known, and other, as clients publish it; see [ClientInfo.Set]. Another set that makes no sense meets
// any. missing is how many masters of the first set the other one may lack.
func SetsMeet(runs []string, other string) (meets bool, missing int) {
	own, _ := parseSet(fingerprint(runs))
	o, ok := parseSet(other)
	if !ok {
		return true, 0
	}
	return meet(&own, &o), own.len() - own.common(&o)
}
