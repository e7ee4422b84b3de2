import type { Mutation } from '../mutation.ts'

const proof = 'A hook that proves'
const once = 'A hook runs once'
const found = 'Servers as their owner has them'
const before = 'failover/flows/before-hooks.test.ts'
const ledger = 'src/manager/loop/hooks/hook-ledger.test.ts'
const managed = 'src/cli/adopt/managed.test.ts'

/** What hooks may do, and what is done to servers that somebody else set up. */
export const adoptedServers: readonly Mutation[] = [
  {
    id: 'loss-without-proof',
    rule: 'Nobody leads with a loss before the hook said that the lost primary is off.',
    heading: proof,
    file: 'failover/flows/before-hooks.ts',
    find: "  return behind(situation, begun, { moment: 'powerOff', holds: needsProof })",
    replace: '  return begun',
    shownBy: before,
  },
  {
    id: 'unknown-end-as-proof',
    rule: 'A hook of which nobody knows how it ended proves nothing.',
    heading: proof,
    file: 'failover/flows/before-hooks.ts',
    find: 'run.stops === true || provesNothing(run)',
    replace: 'run.stops === true',
    shownBy: before,
  },
  {
    id: 'power-off-as-a-test',
    rule: 'A test of the hooks switches no host off.',
    heading: proof,
    file: 'src/manager/clusters/operations/test-hooks.ts',
    find: '(asked === undefined ? harmless : [asked])',
    replace: '(asked === undefined ? momentNames : [asked])',
    shownBy: 'src/manager/clusters/operations/test-hooks.test.ts',
  },
  {
    id: 'failover-beside-its-hooks',
    rule: 'A failover waits for the hooks before it.',
    heading: once,
    file: 'failover/flows/before-hooks.ts',
    find: 'moment === undefined ? decided : behind(situation, decided, { moment, holds: begins })',
    replace: 'decided',
    shownBy: before,
  },
  {
    id: 'hook-claimed-twice',
    rule: 'A hook that another manager has begun is not begun again.',
    heading: once,
    file: 'src/manager/loop/hooks/hook-ledger.ts',
    find: "run?.state === 'due' || (run?.state === 'running' && run.by === this.#by)",
    replace: "run?.state === 'due' || run?.state === 'running'",
    shownBy: ledger,
  },
  {
    id: 'hook-of-a-rival',
    rule: 'A hook is not begun that another manager began for the same failure under another name.',
    heading: once,
    file: 'src/manager/loop/hooks/hook-ledger.ts',
    find: 'isFree && !hasRival(notes, recovery, this.#key)',
    replace: 'isFree',
    shownBy: ledger,
  },
  {
    id: 'beside-another-manager',
    rule: 'Servers that MHA’s manager watches are not managed.',
    heading: found,
    file: 'src/adopt/watch/requirements.ts',
    find: 'return mhaWatches ? { why } : undefined',
    replace: 'return mhaWatches && why === "" ? { why } : undefined',
    shownBy: managed,
  },
  {
    id: 'open-replica-is-managed',
    rule: 'A replica that takes writes beside the primary is not managed.',
    heading: found,
    file: 'src/adopt/watch/requirements.ts',
    find: "return readOnly ? undefined : { why: 'it takes writes beside the primary', ...closing }",
    replace: "return readOnly || closing.sql !== undefined ? undefined : { why: '', ...closing }",
    shownBy: managed,
  },
  {
    id: 'managed-with-what-is-missing',
    rule: 'Nothing is changed on servers while anything is missing.',
    heading: found,
    file: 'src/cli/adopt/managed.ts',
    find: '  if (missing.length === 0) return\n',
    replace: '  if (missing.length >= 0) return\n',
    shownBy: managed,
  },
  {
    id: 'half-taken-over',
    rule: 'Servers are given back where one of them could not be taken over.',
    heading: found,
    file: 'src/cli/adopt/managed.ts',
    find: '    await giveBackAll(io, hosts, before)\n    await purgeCluster',
    replace: '    await purgeCluster',
    shownBy: managed,
  },
  {
    id: 'archives-purged',
    rule: 'What was archived of servers stays where they are given back.',
    heading: found,
    file: 'src/local/folder/kept-archives.ts',
    find: '    for (const archive of await namesIn(from)) await moveInto(join(layout.archives, instance), join(from, archive))\n',
    replace: '',
    shownBy: 'src/local/folder/kept-archives.test.ts',
  },
  {
    id: 'waits-left-behind',
    rule: 'No write waits for a replica without end once the servers are given back.',
    heading: found,
    file: 'agents/far/adopting/semi-sync.ts',
    find: '    ...byDefault,\n    ...before,\n',
    replace: '    ...before,\n',
    shownBy: 'agents/far/adopting/semi-sync.test.ts',
  },
]
