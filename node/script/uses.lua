-- uses.lua: say how a client uses the masters, and ask how others do.
--
-- KEYS[1]  redlock_sets: a string with a line for each terms in use; and for each, behind the key, a colon and
--          the SHA-1 of the terms, a zset: client -> until when it counts, in ms by this master's clock
-- ARGV[1]  the client, which has one of the terms at most
-- ARGV[2]  ms for which it counts; 0 if it only asks, and takes back what it published
-- ARGV[3]  its terms, on one line
-- ARGV[4]  this master's clock when that was sent, in ms: what comes late does not count for longer; 0: unknown
-- ARGV[5]  "alone": it publishes nothing where other terms are in use
-- returns  a list: for each of the other terms in use, a client that has them, and they
-- Called by PublishTerms and LookAtUses: no lock depends on it. A string that is too long, or no string,
-- counts as empty, and is replaced. A repeat only makes the client count for longer.
local client, life, own, sent, alone = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4]), ARGV[5] == 'alone'
local most, longest, furthest, slack = MAX_USES, USES_BYTES, USE_LIFE, 2000
local text = redis.pcall('getrange', KEYS[1], 0, longest)
if text.err and not string.find(text.err, 'WRONGTYPE') then return text end
if text.err or #text > longest then text = '' end
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local uses, lines, size, read, known = {}, {}, 0, 0, false
local function clients(terms) return KEYS[1] .. ':' .. redis.sha1hex(terms) end
for terms in string.gmatch(text, '([^\n]+)\n') do
  read = read + 1
  if read <= most then
    local key = clients(terms)
    if terms ~= own and not alone then redis.call('zrem', key, client) end
    redis.call('zremrangebyscore', key, '-inf', now)
    -- Nobody counts for more than two minutes: the clock went back, or it is forged.
    redis.call('zremrangebyscore', key, string.format('(%.0f', now + furthest), '+inf')
    local by = redis.call('zrange', key, -1, -1)[1]
    if by then
      lines[#lines + 1], size = terms, size + #terms + 1
      if terms == own then known = true else uses[#uses + 1], uses[#uses + 2] = string.sub(by, 1, UUID_SIZE), terms end
    end
  end
end
if life > 0 and not (alone and #uses > 0) and (known or #lines < most and size + #own < longest) then
  if not known then lines[#lines + 1] = own end
  local key, from = clients(own), sent > 0 and math.min(now, sent + slack) or now
  redis.call('zadd', key, 'gt', string.format('%.0f', from + life), client) -- what comes late takes nothing back
  if redis.call('pttl', key) < life then redis.call('pexpire', key, life) end
end
local left, after = redis.call('pttl', KEYS[1]), table.concat(lines, '\n') .. '\n'
if #lines == 0 then
  if left ~= -2 then redis.call('del', KEYS[1]) end
elseif left < life or after ~= text then
  redis.call('set', KEYS[1], after, 'PX', math.max(left, life, 1))
end
return uses
