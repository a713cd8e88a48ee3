package judge

import "testing"

func TestErrors(t *testing.T) {
	try(t, answers, []sentence{
		{"documented", `
			1.0 c1 call 1 lock a deadline=2
			2.0 c1 return 1 err=ended
			2.1 c1 call 2 trylock a
			2.2 c1 return 2 err=noquorum`, "", false},
		{"not documented", `
			> 1.0 c1 call 1 lock a deadline=2
			> 2.0 c1 return 1 err=other`, "lock returned", false},
		{"a loss that Unlock tells", `
			1.0 c1 call 1 lock a
			1.1 c1 grant 1 a until=3
			1.1 c1 return 1
			2.0 c1 lost 1
			2.1 c1 call 2 unlock hold=1
			2.2 c1 return 2 err=lost`, "", false},
		{"a loss that Unlock does not tell", `
			  1.0 c1 call 1 lock a
			  1.1 c1 grant 1 a until=3
			  1.1 c1 return 1
			> 2.0 c1 lost 1
			> 2.1 c1 call 2 unlock hold=1
			> 2.2 c1 return 2`, "though the hold was lost", false},
		{"a loss after Unlock", `
			1.0 c1 call 1 lock a
			1.1 c1 grant 1 a until=3
			1.1 c1 return 1
			2.1 c1 call 2 unlock hold=1
			2.15 c1 lost 1
			2.2 c1 return 2`, "", false},
		{"not held", `
			  1.0 c1 call 1 lock a
			> 1.1 c1 grant 1 a until=3
			  1.1 c1 return 1
			> 2.1 c1 call 2 unlock hold=1
			> 2.2 c1 return 2 err=notheld`, "was not unlocked before", false},
		{"not held, the second time", `
			1.0 c1 call 1 lock a
			1.1 c1 grant 1 a until=3
			1.1 c1 return 1
			2.1 c1 call 2 unlock hold=1
			2.2 c1 return 2
			2.3 c1 call 3 unlock hold=1
			2.4 c1 return 3 err=notheld`, "", false},
		{"lost, and valid later", `
			  1.0 c1 call 1 lock a
			  1.1 c1 grant 1 a until=3
			  1.1 c1 return 1
			> 2.1 c1 call 2 extend hold=1
			> 2.2 c1 return 2 err=lost
			> 2.3 c1 alive 1 until=3`, "but it was valid later", false},
		{"taken by nobody", `
			  10.0 c1 call 1 lock a
			  10.1 c1 grant 1 a until=13
			  10.1 c1 return 1
			  11.0 c1 call 2 unlock hold=1
			  11.1 c1 return 2
			> 17.2 c2 call 1 trylock a
			> 17.3 c2 return 1 err=taken`, "says that a is taken", false},
		{"taken by one who had it a while ago", `
			10.0 c1 call 1 lock a
			10.1 c1 grant 1 a until=13
			10.1 c1 return 1
			11.0 c1 call 2 unlock hold=1
			11.1 c1 return 2
			17.0 c2 call 1 trylock a
			17.3 c2 return 1 err=taken`, "", false},
		{"taken by one who asks", `
			17.0 c1 call 1 lock a
			17.2 c2 call 1 trylock a
			17.3 c2 return 1 err=taken`, "", false},
		{"taken by one who was killed", `
			10.0 c1 started
			10.0 c1 call 1 lock a
			10.1 c1 killed
			17.2 c2 call 1 trylock a
			17.3 c2 return 1 err=taken`, "", false},
		{"taken in a fault", `
			16.9 r  fault 1 cut on=m1
			16.9 r  mended 1
			17.2 c2 call 1 trylock a
			17.3 c2 return 1 err=taken`, "", false},
		{"a loss that comes with no hold", `
			1.0 c1 call 1 lock a deadline=2
			2.0 c1 return 1 err=lost`, "", false},
		{"another error, though nobody had it", `
			17.0 c1 call 1 trylock a
			17.1 c1 return 1 err=noquorum`, "", false},
		{"a wait that ends so", `
			17.0 c1 call 1 lock a
			17.1 c1 return 1 err=taken`, "", false},
		{"taken before anybody had it", `
			> 17.2 c2 call 1 trylock a
			> 17.3 c2 return 1 err=taken
			  17.4 c1 call 1 lock a
			  17.5 c1 grant 1 a until=20`, "says that a is taken", false},
		{"a permit that others have", `
			17.0 c1 call 1 acquire s
			17.1 c1 grant 1 s slot=1 until=30
			24.2 c2 call 1 tryacquire s
			24.3 c2 return 1 err=taken`, "", false},
		{"taken by one who enters again", `
			1.0 c1 call 1 lock a
			1.1 c1 grant 1 a until=3
			1.1 c1 return 1
			3.0 c1 lost 1
			3.0 c1 call 2 enter hold=1 a
			24.2 c2 call 1 trylock a
			24.3 c2 return 1 err=taken`, "", false},
		{"taken long after one was killed who asked", `
			  10.0 c1 started
			  10.0 c1 call 1 lock a
			  10.1 c1 killed
			> 20.2 c2 call 1 trylock a
			> 20.3 c2 return 1 err=taken`, "says that a is taken", false},
		{"taken long after one has exited who asked", `
			  10.0 c1 started
			  10.0 c1 call 1 lock a
			  10.1 c1 exited
			> 17.2 c2 call 1 trylock a
			> 17.3 c2 return 1 err=taken`, "says that a is taken", false},
	})
}
