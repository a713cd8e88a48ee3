-- freed.lua: where it is told that a lock is free, and handed to nobody.
--
-- KEYS[-]  lock, and its name, see names.lua
-- returns  freed: the channel. Redisson's waiters hear it of a lock: Redisson puts a name into braces
--          unless it has some. Of a slot of a semaphore, those hear it who wait for another slot;
--          slot: its number, nil of a lock; note: the message
-- A part of release.lua and force.lua, which carry it inside.

local semaphore, slot = string.match(lock, '^(redlock_slot:.*:)(%d+)$')
local freed, note = semaphore or string.find(lock, '{', 1, true) and lock or name, slot or '0'
freed = 'redisson_lock__channel:' .. freed
