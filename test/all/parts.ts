/** One part of `npm run test:all`: a command, and what it looks for. */
export interface Part {
  readonly name: string
  readonly looksFor: string
  readonly words: readonly string[]
}

export interface Draws {
  /** For the simulation and the campaigns: each run draws another one, and names it. */
  readonly seed: number
  /** Of the campaign in each mode. */
  readonly minutes: number
  /** Schedules of the simulation, in each mode. */
  readonly schedules: number
}

/** All parts, the shortest first. Times and sizes are judged in each. */
export function partsOf({ seed, minutes, schedules }: Draws): readonly Part[] {
  const npm = (script: string, ...words: readonly (string | number)[]): readonly string[] => [
    'npm',
    'run',
    script,
    ...(words.length > 0 ? ['--', ...words.map(String)] : []),
  ]
  const simulate = (...world: readonly string[]) => npm('simulate', ...world, '--seeds', schedules, '--seed', seed)
  const restores = (mode: string) =>
    npm('campaign:restores', '--mode', mode, '--minutes', Math.ceil(minutes / 4), '--seed', seed)
  const campaign = (mode: string) => npm('campaign', '--mode', mode, '--minutes', minutes, '--seed', seed)
  return [
    {
      name: 'mutations',
      looksFor: 'each rule of safety is missed once it is gone',
      words: npm('mutations', '--check'),
    },
    { name: 'simulation', looksFor: 'random schedules, mode semisync', words: simulate('--mode', 'semisync') },
    { name: 'simulation-group', looksFor: 'random schedules, mode group', words: simulate('--mode', 'group') },
    { name: 'simulation-async', looksFor: 'random schedules, mode async', words: simulate('--mode', 'async') },
    { name: 'simulation-far', looksFor: 'random schedules, far agents', words: simulate('--mode', 'async', '--far') },
    { name: 'simulation-routers', looksFor: 'random schedules, routers', words: simulate('--family', 'routers') },
    { name: 'tests', looksFor: 'npm test, with times and sizes judged', words: npm('test') },
    { name: 'long', looksFor: 'what takes long or goes wrong seldom', words: npm('test:long') },
    { name: 'e2e', looksFor: 'every flow on a Kubernetes cluster', words: npm('test:e2e') },
    {
      name: 'e2e-ipv6',
      looksFor: 'flows on a Kubernetes cluster whose pods have addresses of IPv6 first',
      words: npm('test:e2e', 'smoke', 'both-families', 'router', 'hooks', '--families', 'ipv6,ipv4'),
    },
    { name: 'restores', looksFor: 'restores to random moments, mode semisync', words: restores('semisync') },
    { name: 'restores-group', looksFor: 'restores to random moments, mode group', words: restores('group') },
    { name: 'campaign', looksFor: 'random faults on real servers, mode semisync', words: campaign('semisync') },
    { name: 'campaign-group', looksFor: 'random faults on real servers, mode group', words: campaign('group') },
    { name: 'campaign-async', looksFor: 'random faults on real servers, mode async', words: campaign('async') },
  ]
}

/** Throws what is wrong with the names and which there are. */
export function chosen(parts: readonly Part[], names: string | undefined): readonly Part[] {
  if (names === undefined) return parts
  const wanted = names.split(',')
  const unknown = wanted.filter((name) => !parts.some((part) => part.name === name))
  if (unknown.length > 0)
    throw new Error(`no part is named ${unknown.join(', ')}; there are ${parts.map(({ name }) => name).join(', ')}`)
  return parts.filter(({ name }) => wanted.includes(name))
}
