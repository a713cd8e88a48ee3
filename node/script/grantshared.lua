-- grantshared.lua: let owner in as the first reader of a lock that is free.
--
-- KEYS[-]  lock queue counter, and readers, see readers.lua
-- ARGV[-]  owner lease proposal
-- returns  answer: the fencing counter, above 0: owner is a reader; or an error: it is not, or not
--          quite, done
-- Called by call.lua, which carries it inside. It does what join in readers.lua does, without what
-- a free lock does not need.

local counter = keys[k + 3]
local last, time = call('get', counter), call('time')
local token = tonumber(type(last) == 'table' and '' or last or args[a + 3])
if not token or token <= 0 then
  answer = type(last) == 'table' and last or redis.error_reply('ERR the fencing counter is no positive number')
elseif token >= fenceEnd then
  call('set', counter, args[a + 3], 'px', args[a + 2] + fenceTTL .. '')
  answer = redis.error_reply(beyond)
else
  local ends = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000) + args[a + 2])
  answer = call('zadd', readers, ends, args[a + 1])
  if answer == 1 then
    call('pexpireat', readers, ends)
    answer = call('hset', lock, 'mode', 'shared')
  end
  if answer == 1 then
    answer = call('pexpireat', lock, ends)
  end
  if answer == 1 then
    answer = token
    local counts = args[a + 2] + fenceTTL .. ''
    if last then
      call('pexpire', counter, counts)
    else
      call('set', counter, args[a + 3], 'px', counts)
    end
  end
end
