-- acquire.lua: take a lock, alone or together with other readers, or wait for it.
--
-- KEYS[1]  lock, the lock key: a hash, owner -> hold count; of readers, see readers.lua
-- ARGV[1]  owner, "uuid:rN", or "uuid:kN" if its client keeps locks
-- ARGV[2]  lease, in ms; empty to wait only, and leave the lock even if it is free
-- ARGV[3]  proposal, the fencing token asked for
-- ARGV[4]  ask, see queue.lua; empty or missing if owner does not wait in the queue
-- ARGV[5]  "shared" if owner is a reader
-- returns  1: owner has the lock, and its fencing counter is the token proposed;
--          {1, token}: owner has the lock, and its fencing counter is that;
--          {0, 0, ms left, holder, rank}: another owner has it (-1 ms: it never expires), or
--          readers, "shared", or nobody: 0 ms and an empty string. The rank is how many stand before
--          owner in the queue, and is there only if it waits;
--          NOTLOCK, an error: the key is no lock, see holder.lua, or the counter no number, see
--          fence.lua, and nothing was changed
-- Called for an Acquire, AcquireOrRegister or Register command. A repeat changes nothing but the
-- expiry, which never shrinks.

-- #include fence.lua
local lock, owner, lease, proposal, ask = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local shared = ARGV[5] == 'shared'
-- #include names.lua
local queue, counter = 'redlock_wait:' .. name, 'redlock_fence:' .. name
local free = lease ~= '' and
  (shared and redis.call('exists', lock, queue, 'redlock_read:' .. name) or redis.call('exists', lock, queue)) == 0

if shared or not free then
  -- #include readers.lua
  local holder, inside, joined, last, token, ttl, left
  if not free then
    -- #include holder.lua
    local wrong
    holder, wrong = holderOf(lock, owner)
    if wrong then
      return wrong
    end
    inside = holder == owner or shared and holder == 'shared' and reads(owner)
  end

  if shared or inside then
    -- Checked before anything is written: a script that fails is not rolled back.
    last = redis.call('get', counter)
    token = tonumber(last or proposal)
    if not token or not (token > 0) then -- not even of nan
      return redis.error_reply(noCounter)
    end
    ttl = (tonumber(lease) or 0) + fenceTTL .. ''
    if token >= fenceEnd then
      redis.call('set', counter, proposal, 'px', ttl)
      return redis.error_reply(beyond)
    end
  end

  -- Nobody waits, and the lock is free or shared.
  local open = free or shared and
    lease ~= '' and (not holder or holder == 'shared') and redis.call('exists', queue) == 0
  if not inside and not open then
    -- #include queue.lua
    if ask == '' then
      ask = nil
    end
    if ask then
      enter(owner, proposal, ask, ARGV[5])
    end
    if holder and (holder ~= 'shared' or not shared or lease == '') then
      left = redis.call('pttl', lock)
    elseif lease == '' then
      left = 0
    else
      if not holder then
        left = redis.call('pttl', 'redlock_turn:' .. name)
      end
      if left and left > 0 and left <= TURN_LASTS then
        holder = 'redisson'
      else
        -- Nobody overtakes those who wait: a lease that ran out goes to the first of them.
        holder, left = handOff(0, holder, owner, shared and lease)
        if holder == 'shared' and (not shared or ask or redis.call('exists', queue) == 1) then
          left = redis.call('pttl', lock)
        elseif shared then
          joined, last = holder == owner, redis.call('get', counter)
          token = tonumber(last or proposal)
        end
      end
    end
    if left then
      wanted(holder)
      -- A reader that waits behind a writer, while others read, must go on asking, since it is its
      -- asks that let in whoever is next. So it is told of no holder: those who know of one only
      -- keep their place.
      if shared and ask and holder == 'shared' then
        holder = ''
      end
      return {0, 0, left, holder or '', ask and redis.call('zrank', queue, owner) or nil}
    end
  end

  if shared and lease ~= '' and not joined then
    join(owner, lease, holder, free)
  elseif not shared and inside then
    redis.call('hset', lock, owner, '1')
    if lease ~= '' and redis.call('pttl', lock) < tonumber(lease) then -- or a lock that never expires would be gone
      redis.call('pexpire', lock, lease)
    end
  end
  if shared or inside then
    if last then
      redis.call('pexpire', counter, ttl)
      return {1, token}
    end
    redis.call('set', counter, proposal, 'px', ttl)
    return 1
  end
end

local ttl = lease + fenceTTL .. '' -- Redis takes longer to write a number
local last = redis.call('set', counter, proposal, 'get', 'px', ttl)
-- A client that keeps the lock has a range of tokens, of which the counter is the last.
local answer, more = 1, string.sub(owner, MARK_FIRST, MARK_LAST) == KEEP_MARK and TOKEN_RANGE - 1 or 0
if last then
  local number = tonumber(last)
  if not number then
    redis.call('set', counter, last, 'px', ttl) -- it is put back
    return redis.error_reply(noCounter)
  end
  if number + more + 1 >= fenceEnd then
    return redis.error_reply(beyond)
  end
  if number + more >= tonumber(proposal) then
    local token = number + more + 1
    redis.call('set', counter, string.format('%.0f', token), 'px', ttl)
    answer = {1, token}
  end
end
redis.call('hset', lock, owner, '1')
redis.call('pexpire', lock, lease)
return answer
