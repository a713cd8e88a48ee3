-- extend.lua: extend the lease of a lock that owner has, and raise its fencing counter to
-- owner's token.
--
-- KEYS[-]  lock counter
-- ARGV[-]  owner lease token
-- returns  answer as it was, or an error
-- Called by call.lua, which carries it inside. Neither shrinks.

local left = call('pttl', lock)
if type(left) == 'number' and left < tonumber(lease) then
  left = call('pexpire', lock, lease)
end
if type(left) ~= 'number' then
  answer = left
end
local last = call('set', counter, token, 'get', 'px', ttl)
-- A counter that is no number is left alone: acquire reports it.
if type(last) == 'string' and last ~= token then
  local number = tonumber(last)
  if not number or number > tonumber(token) and number < fenceEnd then
    call('set', counter, last, 'px', ttl)
  end
end
