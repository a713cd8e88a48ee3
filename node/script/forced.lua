-- forced.lua: the mark that a lock was taken from its owner by force. A part of the other
-- scripts, which carry it inside.
--
-- KEYS[-]  the mark is not among them: who has a lock is not known before it is forced, and
--          next to no renewal has to look for a mark
-- returns  forcedKey returns the key of the mark
-- Called by release.lua, which sets the mark, and renew.lua, which then does not heal.

-- A name goes into braces. One that has some stands as it is, with a colon behind it.
local function forcedKey(lock, owner)
  local name = string.find(lock, '{', 1, true) and lock .. ':' or '{' .. lock .. '}'
  return 'redlock_forced:' .. name .. owner
end
