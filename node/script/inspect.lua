-- inspect.lua: tell who has the lock, and change nothing.
--
-- KEYS[-]  lock, the lock key: a hash, owner -> hold count; counter, its fencing counter
-- returns  {ms left, fencing counter, owner, hold count}; the last two are missing
--          when nobody has the lock, and ms left is then -2;
--          NOTLOCK, an error: the key is no lock, see holder.lua
-- Called by call.lua, for an Inspect command.

function run(_, lock, _, k)
  local holder, wrong = holderOf(lock)
  if wrong then
    return wrong
  end
  local answer = {redis.call('pttl', lock), redis.call('get', keys[k + 2]) or '0'}
  if holder then
    answer[3], answer[4] = holder, redis.call('hget', lock, holder)
  end
  return answer
end
