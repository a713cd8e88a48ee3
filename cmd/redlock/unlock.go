package main

import "fmt"

type unlockCmd struct {
	fleetFlags

	Force   bool   `help:"Required: confirms that you know that a holder may be at work."`
	Permits bool   `help:"Free all permits of that name, instead of the lock."`
	Name    string `arg:"" help:"The lock's name."`
}

// Run frees the lock and says whether there was one.
func (u *unlockCmd) Run(std streams, from origins) error {
	if !u.Force {
		look := "redlock inspect "
		if u.Permits {
			look += "--permits "
		}
		return fail(exitUsage, "unlock takes %q away from its holder, which may be at work and learns of it only at its next renewal; "+
			"use --force if you want that, or see first who holds it: %s", u.Name, look+u.Name)
	}
	client, err := u.openToLook(from, std.err)
	if err != nil {
		return err
	}
	defer closeWithin(client, unlockLimit)
	ctx, cancel := lookContext()
	defer cancel()
	free := func() (bool, error) { return client.ForceUnlock(ctx, u.Name) }
	if u.Permits {
		free = func() (bool, error) { return client.Semaphore(u.Name, 1).ForceRelease(ctx) }
	}
	freed, err := free()
	if err != nil {
		return refuse(err, "<name>")
	}
	if !freed {
		_, err = fmt.Fprintf(std.out, "%s: nobody held it\n", u.Name)
		return err
	}
	_, err = fmt.Fprintf(std.out, "%s: freed\n", u.Name)
	return err
}
