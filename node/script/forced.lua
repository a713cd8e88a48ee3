-- forced.lua: the mark that a lock was taken from its owner by force.
--
-- KEYS[-]  the mark is not among them: who has a lock is not known before it is forced, and
--          next to no renewal has to look for a mark
-- returns  forcedKey returns the key of the mark
-- Called by release.lua, which sets the mark, and renew.lua, which then does not heal. A part
-- of call.lua, which carries it inside.

-- The owner's renewals must not set the lock again for as long as its lease would have lasted.
-- Each owner has a key of its own, since the next one may be forced out as well. A name goes
-- into braces. One that has some stands as it is, with a colon behind it.
function forcedKey(lock, owner)
  local name = string.find(lock, '{', 1, true) and lock .. ':' or '{' .. lock .. '}'
  return 'redlock_forced:' .. name .. owner
end
