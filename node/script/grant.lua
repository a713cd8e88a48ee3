-- grant.lua: give owner a lock that is free.
--
-- KEYS[-]  lock queue counter
-- ARGV[-]  owner lease token
-- returns  answer: 0: owner has the lock, and its fencing counter is the token proposed;
--          the fencing counter, above 0: owner has the lock;
--          an error: it is not, or not quite, done
-- Called by call.lua, which carries it inside.

local last = call('set', counter, token, 'get', 'px', ttl)
local number = last and tonumber(last)
if last and not number then
  answer = last
  if type(last) == 'string' then
    call('set', counter, last, 'px', ttl) -- it is put back
    answer = redis.error_reply('ERR the fencing counter is no number')
  end
elseif last and number + 1 >= fenceEnd then
  answer = redis.error_reply(beyond)
else
  answer = 0
  if last and number >= tonumber(token) then
    answer = number + 1
    call('set', counter, string.format('%.0f', answer), 'px', ttl)
  end
  local done = call('hset', lock, args[a + 1], '1')
  if done == 1 then
    done = call('pexpire', lock, lease)
  end
  if done ~= 1 then
    answer = done
  end
end
