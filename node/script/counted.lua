-- counted.lua: raise the fencing counter of a lock to the token of a hold that is renewed.
--
-- KEYS[-]  lock, whose fencing counter it is
-- returns  nothing; it needs name, see names.lua
-- A part of renew.lua and keep.lua, which carry it inside. A counter never shrinks.

local counter = 'redlock_fence:' .. name
local last = call('set', counter, token, 'get', 'px', ttl)
-- A counter that is no number is left alone: acquire reports it.
if type(last) == 'string' and last ~= token then
  local number = tonumber(last)
  if not number or number > tonumber(token) and number < fenceEnd then
    call('set', counter, last, 'px', ttl)
  end
end
