package main

import "fmt"

type unlockCmd struct {
	fleetFlags

	Force   bool `help:"Required: confirms that you know that a holder may be at work."`
	Permits bool `help:"Free all permits of that name, instead of the lock."`
	oneName
}

// Run frees the lock and says whether there was one.
func (u *unlockCmd) Run(std streams, from origins) error {
	name, called, err := u.which("redlock unlock --force")
	if err != nil {
		return err
	}
	if !u.Force {
		look := "redlock inspect "
		if u.Permits {
			look += "--permits "
		}
		return fail(exitUsage, "unlock takes %q away from its holder, which may be at work and learns of it only at its next renewal; "+
			"use --force if you want that, or see first who holds it: %s", name, look+name)
	}
	client, err := u.openToLook(from, std.err)
	if err != nil {
		return err
	}
	defer closeWithin(client, unlockLimit)
	ctx, cancel := lookContext()
	defer cancel()
	free := func() (bool, error) { return client.ForceUnlock(ctx, name) }
	if u.Permits {
		free = func() (bool, error) { return client.Semaphore(name, 1).ForceRelease(ctx) }
	}
	freed, err := free()
	if err != nil {
		return refuse(err, called)
	}
	if !freed {
		_, err = fmt.Fprintf(std.out, "%s: nobody held it\n", name)
		return err
	}
	_, err = fmt.Fprintf(std.out, "%s: freed\n", name)
	return err
}
