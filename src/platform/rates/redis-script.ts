/**
 * The meters of `kernel/rate.ts` as a Redis script: all debits of a request in one atomic step, by the clock of Redis. Numbers in
 * Lua are doubles, which are exact below 2^53. So the level of a bucket is stored as whole units and a remainder, products are
 * split, and windows longer than a day are counted in seconds. Larger numbers (a rate in nanodollars of more than four million
 * dollars) are counted in coarser units, rounded towards denial.
 */
import { aheadMsMax, bucketWaitSeconds, rollingParts, wholeSeconds } from '../../kernel/rate.ts';
import { type AvailableAmount, allowed, type RateDebit, type RateVerdict } from './rate-limiter.ts';

/**
 * KEYS: one per debit. ARGV: 'take' or 'back', then for each debit its kind, limit, burst, window and tick (the window is
 * in ticks, a tick in milliseconds) and amount.
 *
 * If all debits were allowed, returns -1 and the amount that is left of each. Otherwise nothing was taken, and the list has four
 * numbers for each denied debit: its index, then for a bucket its level, its remainder and how far its time is ahead; for a rolling window
 * the amount that it allows now, the wait in milliseconds and a zero.
 */
export const rateScript = `
local time = redis.call('TIME')
local nowMs = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

-- math.fmod is exact where a % b, which divides first, is not.
local function divide(a, b)
  local rest = math.fmod(a, b)
  return (a - rest) / b, rest
end

local meters = {}

local bucket = {}
function bucket.load(key, take)
  local raw = redis.call('GET', key)
  if not raw then
    return { level = take.burst, rest = 0, at = nowMs, untouched = true }
  end
  local level, rest, at, window = unpack(cmsgpack.unpack(raw))
  return { level = level, rest = window == take.window and rest or 0, at = at }
end
function bucket.moveBack(state)
  if state.at - nowMs > ${aheadMsMax} then
    state.at = nowMs
    return true
  end
end
function bucket.fill(state, take)
  local ticks = math.floor((nowMs - state.at) / take.tick)
  if ticks > 0 then
    state.at = state.at + ticks * take.tick
    local windows, part = divide(ticks, take.window)
    local perTick, left = divide(take.limit, take.window)
    local more, rest = divide(left * part + state.rest, take.window)
    state.level = state.level + windows * take.limit + perTick * part + more
    state.rest = rest
  end
  if state.level >= take.burst then
    state.level = take.burst
    state.rest = 0
  end
end
function bucket.take(state, take)
  bucket.fill(state, take)
  if take.amount > take.burst or state.level < take.amount then
    return { state.level, state.rest, state.at - nowMs }
  end
  state.level = state.level - take.amount
end
function bucket.back(state, take)
  state.level = state.level + take.amount
  bucket.fill(state, take)
end
function bucket.left(state)
  return math.max(0, state.level)
end
function bucket.save(key, state, take)
  local windowMs = take.window * take.tick
  local fullMs = take.limit > 0 and (take.burst - state.level) / take.limit * windowMs or windowMs
  local packed = cmsgpack.pack({ state.level, state.rest, state.at, take.window })
  local keepMs = math.min(math.ceil(fullMs) + take.tick + 1000, 1e14)
  redis.call('SET', key, packed, 'PX', string.format('%.0f', keepMs))
end

-- Entries of three numbers: when the first and the last of it came, and how much.
local rolling = {}
function rolling.load(key)
  local raw = redis.call('GET', key)
  return raw and cmsgpack.unpack(raw) or {}
end
function rolling.moveBack(state)
  if #state > 0 and state[#state - 1] - nowMs > ${aheadMsMax} then
    for i = 1, #state, 3 do
      state[i], state[i + 1] = math.min(state[i], nowMs), math.min(state[i + 1], nowMs)
    end
    return true
  end
end
function rolling.take(state, take)
  local windowMs = take.window * take.tick
  local at = math.max(nowMs, state[#state - 1] or nowMs)
  local live, total = {}, 0
  for i = 1, #state, 3 do
    if state[i + 1] + windowMs > at then
      live[#live + 1], live[#live + 2], live[#live + 3] = state[i], state[i + 1], state[i + 2]
      total = total + state[i + 2]
    end
  end
  local never = take.amount > take.limit
  local excess = never and total or total + take.amount - take.limit
  if never or excess > 0 then
    local goneAt = take.limit > 0 and nowMs or nowMs + windowMs
    for i = 1, #live, 3 do
      if excess <= 0 then
        break
      end
      excess = excess - live[i + 2]
      goneAt = live[i + 1] + windowMs
    end
    return { math.max(0, take.limit - total), math.min(goneAt - nowMs, windowMs), 0 }
  end
  local last = #live
  if last > 0 and (at - live[last - 2]) * ${rollingParts} < windowMs then
    live[last - 1], live[last] = at, live[last] + take.amount
  else
    live[last + 1], live[last + 2], live[last + 3] = at, at, take.amount
  end
  for i = 1, math.max(#live, #state) do
    state[i] = live[i]
  end
end
function rolling.back(state, take)
  local left = take.amount
  while left > 0 and #state > 0 do
    local last = #state
    local given = math.min(left, state[last])
    left = left - given
    state[last] = state[last] - given
    if state[last] == 0 then
      state[last], state[last - 1], state[last - 2] = nil, nil, nil
    end
  end
end
function rolling.left(state, take)
  local total = 0
  for i = 3, #state, 3 do
    total = total + state[i]
  end
  return math.max(0, take.limit - total)
end
function rolling.save(key, state, take)
  if #state == 0 then
    redis.call('DEL', key)
  else
    local keepMs = math.max(0, state[#state - 1] - nowMs) + take.window * take.tick + 1000
    redis.call('SET', key, cmsgpack.pack(state), 'PX', string.format('%.0f', math.min(keepMs, 1e14)))
  end
end

local sorts = { bucket = bucket, rolling = rolling }
local action = ARGV[1]
local refused = {}
local left = { -1 }
for i, key in ipairs(KEYS) do
  local at = 2 + (i - 1) * 6
  local take = {
    sort = ARGV[at],
    limit = tonumber(ARGV[at + 1]),
    burst = tonumber(ARGV[at + 2]),
    window = tonumber(ARGV[at + 3]),
    tick = tonumber(ARGV[at + 4]),
    amount = tonumber(ARGV[at + 5]),
  }
  local sort = sorts[take.sort]
  local meter = meters[key]
  if not meter then
    meter = { state = sort.load(key, take) }
    meters[key] = meter
    -- Saved also if the call is denied: otherwise the meter would wait for the clock that was wrong.
    if sort.moveBack(meter.state) then
      sort.save(key, meter.state, take)
    end
  end
  meter.take = take
  -- What was not there was untouched or is long gone: there is nothing to give back to.
  if not (action == 'back' and meter.state.untouched) then
    local why = sort[action](meter.state, take)
    if why then
      refused[#refused + 1] = i - 1
      for _, number in ipairs(why) do
        refused[#refused + 1] = number
      end
    elseif action == 'take' then
      left[#left + 1] = sort.left(meter.state, take)
    end
  end
end
if #refused == 0 then
  for key, meter in pairs(meters) do
    if not (action == 'back' and meter.state.untouched) then
      sorts[meter.take.sort].save(key, meter.state, meter.take)
    end
  end
  return left
end
return refused
`;

export interface ScriptCall {
  readonly keys: string[];
  readonly args: string[];
}

const longestInMilliseconds = 86_400;

/** Returns the keys and arguments of a script call. The braces in the keys (a hash tag) put all keys of an org on one node of a cluster. */
export function scriptCall(action: 'take' | 'back', debits: readonly RateDebit[]): ScriptCall {
  const keys: string[] = [];
  const args: string[] = [action];
  for (const take of debits) {
    const { shift, limit, burst, amount } = exact(take);
    const end = take.key.indexOf(':');
    const rest = shift === 0n ? take.key.slice(end) : `${take.key.slice(end)}:${shift}`;
    keys.push(`purser:rate:{${take.key.slice(0, end)}}${rest}`);
    const { windowTicks, tickMs } = ticks(take.windowSeconds);
    args.push(take.rolling === true ? 'rolling' : 'bucket');
    for (const number of [limit, burst, windowTicks, tickMs, amount]) {
      args.push(number.toString());
    }
  }
  return { keys, args };
}

/** First number of a reply if all debits were allowed. Otherwise it is the index of a denied debit. */
const allowedReply = -1;

export function verdictOf(debits: readonly RateDebit[], reply: readonly number[]): RateVerdict {
  const [first = allowedReply, ...left] = reply;
  if (first === allowedReply) {
    return debits[0]?.reports === true
      ? {
          allowed: true,
          remaining: debits.map((take, index) => BigInt(left[index] ?? 0) << exact(take).shift),
        }
      : allowed;
  }
  let retryAfterSeconds = 1;
  const available: AvailableAmount[] = [];
  for (let i = 0; i < reply.length; i += 4) {
    const [index = 0, ...why] = reply.slice(i, i + 4);
    const take = debits[index];
    if (take !== undefined) {
      retryAfterSeconds = Math.max(retryAfterSeconds, waitSeconds(take, why));
      available.push({ index, amount: BigInt(why[0] ?? 0) << exact(take).shift });
    }
  }
  return { allowed: false, index: first, retryAfterSeconds, available };
}

/** Computes the wait. The script cannot, because the wait of a bucket needs more digits than Lua has. */
function waitSeconds(take: RateDebit, [level = 0, restOrWaitMs = 0, aheadMs = 0]: readonly number[]): number {
  if (take.rolling === true) {
    return wholeSeconds(restOrWaitMs);
  }
  const { limit, burst, amount } = exact(take);
  const { windowTicks, tickMs } = ticks(take.windowSeconds);
  const bucket = {
    level: (BigInt(level) * BigInt(windowTicks) + BigInt(restOrWaitMs)) * BigInt(tickMs),
    stepsPerUnit: BigInt(windowTicks * tickMs),
    atMs: aheadMs,
  };
  return bucketWaitSeconds({ limit, burst, windowSeconds: take.windowSeconds, shares: 1 }, bucket, amount, 0);
}

/** Returns the window in ticks. The tick is chosen so that the product of two numbers below the window stays exact. */
function ticks(windowSeconds: number): { windowTicks: number; tickMs: number } {
  return windowSeconds <= longestInMilliseconds
    ? { windowTicks: windowSeconds * 1_000, tickMs: 1 }
    : { windowTicks: windowSeconds, tickMs: 1_000 };
}

/**
 * Largest number that the script gets. It leaves room for sums; also, the client parses integers digit by digit, which is inexact
 * close to 2^53.
 */
const largest = 2n ** 52n;

interface ExactTake {
  /** Number of binary digits that the coarser unit drops. */
  readonly shift: bigint;
  readonly limit: bigint;
  readonly burst: bigint;
  readonly amount: bigint;
}

/** Converts a debit into units that Lua can count. An amount within the burst stays within it; a larger one stays larger. */
function exact({ limit, burst, amount, rolling }: RateDebit): ExactTake {
  let shift = 0n;
  while (limit >> shift > largest || burst >> shift > largest) {
    shift += 1n;
  }
  const coarse = { shift, limit: limit >> shift, burst: burst >> shift };
  const [most, coarseMost] = rolling === true ? [limit, coarse.limit] : [burst, coarse.burst];
  const roundedUp = -(-amount >> shift);
  const within = roundedUp < coarseMost ? roundedUp : coarseMost;
  return { ...coarse, amount: amount > most ? coarseMost + 1n : within };
}
