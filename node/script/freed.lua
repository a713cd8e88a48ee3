-- freed.lua: tell Redisson's waiters that a lock is free.
--
-- KEYS[-]  lock
-- returns  answer: 1, or an error
-- Called by call.lua and leaveshared.lua, which carry it inside.

-- Redisson puts a name into braces unless it has some.
local name = string.find(lock, '{', 1, true) and lock or '{' .. lock .. '}'
local told = call('publish', 'redisson_lock__channel:' .. name, '0')
answer = type(told) == 'number' and 1 or told
