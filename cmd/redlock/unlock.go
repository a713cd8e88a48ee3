package main

import "fmt"

type unlockCmd struct {
	fleetFlags

	Force bool   `help:"Required: confirms that you know that a holder may be at work."`
	Name  string `arg:"" help:"The lock's name."`
}

// Run frees the lock and says whether there was one.
func (u *unlockCmd) Run(std streams, from origins) error {
	if !u.Force {
		return fail(exitUsage, "unlock takes %q away from its holder, which may be at work and learns of it only at its next renewal; "+
			"use --force if you want that, or see first who holds it: redlock inspect %s", u.Name, u.Name)
	}
	client, err := u.openToLook(from, std.err)
	if err != nil {
		return err
	}
	defer closeWithin(client, unlockLimit)
	ctx, cancel := lookContext()
	defer cancel()
	freed, err := client.ForceUnlock(ctx, u.Name)
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
