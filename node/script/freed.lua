-- freed.lua: where Redisson's waiters hear that a lock is free.
--
-- KEYS[-]  lock, and its name, see names.lua
-- returns  freed: the channel. Redisson puts a name into braces unless it has some
-- A part of release.lua, leave.lua and force.lua, which carry it inside.

local freed = 'redisson_lock__channel:' .. (string.find(lock, '{', 1, true) and lock or name)
