-- names.lua: what the keys that belong to a lock end in.
--
-- KEYS[-]  lock
-- returns  name: the lock's name in braces. One that has braces stands as it is, with a colon
--          behind it: the keys of "{a}" must not be those of "a". Of a slot of a semaphore,
--          "redlock_slot:{a}:7", it is "{a}:7": no lock has such a name
-- A part of the scripts of locks, which carry it inside. Masters are no cluster: keys that
-- follow from the lock need not be sent.

local name = string.match(lock, '^redlock_slot:(.*)') or string.find(lock, '{', 1, true) and lock .. ':' or '{' .. lock .. '}'
