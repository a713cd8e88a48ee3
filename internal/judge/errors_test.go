package judge

import "testing"

func TestErrors(t *testing.T) {
	try(t, answers, []sentence{
		{"documented", `c1: 1.0 lock a deadline=2, 2.0 return err=ended, 2.1 trylock a, 2.2 return err=noquorum`, ""},
		{"not documented", `c1: >1.0 lock a deadline=2, >2.0 return err=other`, "lock returned"},
		{"a loss that Unlock tells", `
			c1: 1.0 lock a, 1.1 grant until=3, 1.1 return, 2.0 lost, 2.1 unlock, 2.2 return err=lost`, ""},
		{"a loss that Unlock does not tell", `
			c1: 1.0 lock a, 1.1 grant until=3, 1.1 return, >2.0 lost, >2.1 unlock, >2.2 return`, "though the hold was lost"},
		{"a loss after Unlock", `c1: 1.0 lock a, 1.1 grant until=3, 1.1 return, 2.1 unlock, 2.15 lost, 2.2 return`, ""},
		{"not held", `
			c1: 1.0 lock a, >1.1 grant until=3, 1.1 return, >2.1 unlock, >2.2 return err=notheld`, "was not unlocked before"},
		{"not held, the second time", `
			c1: 1.0 lock a, 1.1 grant until=3, 1.1 return, 2.1 unlock, 2.2 return, 2.3 unlock, 2.4 return err=notheld`, ""},
		{"lost, and valid later", `
			c1: 1.0 lock a, 1.1 grant until=3, 1.1 return, >2.1 extend, >2.2 return err=lost,
				>2.3 alive`, "but it was valid later"},
		{"taken by nobody", `
			c1: 10.0 lock a, 10.1 grant until=13, 10.1 return, 11.0 unlock, 11.1 return
			c2: >17.2 trylock a, >17.3 return err=taken`, "says that a is taken"},
		{"taken by one who had it a while ago", `
			c1: 10.0 lock a, 10.1 grant until=13, 10.1 return, 11.0 unlock, 11.1 return
			c2: 17.0 trylock a, 17.3 return err=taken`, ""},
		{"taken by one who asks", `
			c1: 17.0 lock a
			c2: 17.2 trylock a, 17.3 return err=taken`, ""},
		{"taken by one who was killed", `
			c1: 10.0 started, 10.0 lock a, 10.1 killed
			c2: 17.2 trylock a, 17.3 return err=taken`, ""},
		{"taken in a fault", `
			r: 16.9 fault cut on=m1, 16.9 mended
			c2: 17.2 trylock a, 17.3 return err=taken`, ""},
		{"a loss that comes with no hold", `c1: 1.0 lock a deadline=2, 2.0 return err=lost`, ""},
		{"another error, though nobody had it", `c1: 17.0 trylock a, 17.1 return err=noquorum`, ""},
		{"a wait that ends so", `c1: 17.0 lock a, 17.1 return err=taken`, ""},
		{"taken before anybody had it", `
			c2: >17.2 trylock a, >17.3 return err=taken
			c1: 17.4 lock a, 17.5 grant until=20`, "says that a is taken"},
		{"a permit that others have", `
			c1: 17.0 acquire s, 17.1 grant slot=1 until=30
			c2: 24.2 tryacquire s, 24.3 return err=taken`, ""},
		{"taken by one who enters again", `
			c1: 1.0 lock a, 1.1 grant until=3, 1.1 return, 3.0 lost, 3.0 enter a
			c2: 24.2 trylock a, 24.3 return err=taken`, ""},
		{"taken long after one was killed who asked", `
			c1: 10.0 started, 10.0 lock a, 10.1 killed
			c2: >20.2 trylock a, >20.3 return err=taken`, "says that a is taken"},
		{"taken long after one has exited who asked", `
			c1: 10.0 started, 10.0 lock a, 10.1 exited
			c2: >17.2 trylock a, >17.3 return err=taken`, "says that a is taken"},
	})
}
