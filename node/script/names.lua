-- names.lua: what the keys that belong to a lock end in.
--
-- KEYS[-]  lock
-- returns  name: the lock's name in braces. One that has braces stands as it is, with a colon
--          behind it: the keys of "{a}" must not be those of "a"
-- A part of the scripts of locks, which carry it inside. Masters are no cluster: keys that
-- follow from the lock need not be sent.

local name = string.find(lock, '{', 1, true) and lock .. ':' or '{' .. lock .. '}'
