package main

import (
	"context"
	"fmt"
	"slices"

	"example.com/redlock/internal/quote"
	"example.com/redlock/redlockadmin"
)

type unlockCmd struct {
	fleetFlags

	Force   bool       `help:"Required: confirms that you know that a holder may be at work."`
	Permits anyPermits `help:"Free all permits of that name, instead of the lock."`
	Slot    *int       `placeholder:"N" help:"With --permits: free this one only, as inspect --permits shows it."`
	oneName
}

// Run frees the lock and says whether there was one.
func (u *unlockCmd) Run(std streams, from origins) error {
	name, called, err := u.which("redlock unlock --force")
	if err != nil {
		return err
	}
	if u.Slot != nil && !u.Permits {
		return fail(exitUsage, "--slot is about a permit: use --permits with it")
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
	defer closeSoon(client)
	ended, release := interruptible()
	defer release()
	ctx, cancel := context.WithTimeout(ended, lookLimit)
	defer cancel()
	admin := redlockadmin.Of(client)
	freed, whose := false, "" // so that the user can tell the holder
	if u.Permits {
		if seen, err := admin.InspectSemaphore(ctx, name); err == nil {
			whose = u.holders(seen.Slots)
		}
	}
	switch {
	case u.Slot != nil:
		freed, err = admin.ForceReleaseSlot(ctx, name, *u.Slot)
	case bool(u.Permits):
		freed, err = admin.ForceRelease(ctx, name)
	default:
		if seen, err := admin.Inspect(ctx, name); err == nil && seen.Held {
			whose = ", was held by " + holderSince(seen)
		}
		freed, err = admin.ForceUnlock(ctx, name)
	}
	if err != nil {
		if by := bySignal(ctx); by != nil {
			return fail(codeOf(by), "%w", err) // it may be free
		}
		return refuse(err, called)
	}
	if !freed {
		beside := ""
		if !u.Permits {
			beside = permitsBeside(ctx, client, name)
		}
		_, err = fmt.Fprintf(std.out, "%s: nobody held it%s\n", quote.Text(name), beside)
		return err
	}
	_, err = fmt.Fprintf(std.out, "%s: freed%s\n", quote.Text(name), quote.Text(whose))
	return err
}

// holders says who has the slots that are to be freed.
func (u *unlockCmd) holders(slots []redlockadmin.Slot) string {
	if u.Slot != nil {
		slots = slices.DeleteFunc(slots, func(s redlockadmin.Slot) bool { return s.Number != *u.Slot })
	}
	if len(slots) == 0 {
		return ""
	}
	return ", " + quote.Few(slots, func(s redlockadmin.Slot) string {
		return fmt.Sprintf("slot %d was held by %s", s.Number, holderFor(named(s.Owner, s.Client), s.HeldFor))
	})
}
