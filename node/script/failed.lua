-- failed.lua: what pcall caught is the answer to its own hold, as an error reply.
--
-- KEYS[-]  none
-- returns  answer, as it is if ok
-- A part of renew.lua, keep.lua and renewslot.lua, which carry it inside.

if not ok and type(answer) == 'string' then
  answer = redis.error_reply(answer)
end
