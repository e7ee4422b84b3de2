import type { Mutation } from '../mutation.ts'

const whoMay = 'Who may acknowledge'
const guess = 'Nothing is destroyed on a guess'
const replica = 'agents/semisync/replica.ts'
const reseeding = 'agents/orders/reseeding.ts'

/** How an instance follows, and how it is seeded. */
export const replicas: readonly Mutation[] = [
  {
    id: 'only-the-counted-acknowledge',
    rule: 'A replica that does not count follows with semi-sync off.',
    heading: whoMay,
    file: 'agents/semisync/connecting.ts',
    find: '    willAcknowledge(counted),\n',
    replace: '    willAcknowledge(true),\n',
    family: 'members',
  },
  {
    id: 'connects-anew-to-count',
    rule: 'A replica connects anew when it begins or ends to count.',
    heading: whoMay,
    file: 'agents/semisync/following.ts',
    find: "channel.ioRunning === 'yes' ? channel.semiSync === counted : appliedRevision === revision",
    replace: "channel.ioRunning === 'yes' ? true : appliedRevision === revision",
    family: 'members',
  },
  {
    id: 'connecting-is-of-this-revision',
    rule: 'A receiver that is still connecting is trusted only if it was started for this revision.',
    heading: whoMay,
    file: 'agents/semisync/following.ts',
    find: "channel.ioRunning === 'yes' ? channel.semiSync === counted : appliedRevision === revision",
    replace: "channel.ioRunning === 'yes' ? channel.semiSync === counted : true",
    family: 'members',
  },
  {
    id: 'follower-is-no-source',
    rule: 'The source side of semi-sync is off before a replica applies.',
    heading: 'A failover, and why each step keeps the invariant',
    file: 'agents/semisync/connecting.ts',
    find: '(state.semiSyncSource.enabled ? [switchAcknowledgementsOff] : [...openGates(view, state), startApplier])',
    replace: '[...openGates(view, state), startApplier]',
    family: 'switchovers',
    survives: 'Shown where a demoted primary has something to apply.',
  },
  {
    id: 'errant-stand-by',
    rule: 'A replica with errant transactions follows nobody.',
    heading: guess,
    file: replica,
    find: 'if (!errant.isEmpty())',
    replace: 'if (errant.count() < 0)',
    family: 'seedings',
    survives: 'Covered: a manager lets nobody with errant transactions into the sync set.',
  },
  {
    id: 'filter-is-remembered',
    rule: 'A replica that was seen with a replication filter counts no more, also once the filter is gone.',
    heading: 'Channel options',
    file: replica,
    find: '      store: { filterSeen: true },\n',
    replace: '',
    shownBy: 'test/simulation/scenarios/filter.test.ts',
  },
  {
    id: 'archived-before-seeding',
    rule: 'Errant transactions are archived before anything is destroyed.',
    heading: guess,
    file: reseeding,
    find: 'if (own) await this.#archive(own.subtract(parseGtidSet(order.sourceHolds)))',
    replace: '',
    family: 'seedings',
  },
  {
    id: 'seeding-mark',
    rule: 'The mark "holds nothing" is on disk before a copy begins.',
    heading: guess,
    file: reseeding,
    find: 'seeding: order.beside !== true, revision: order.revision',
    replace: 'revision: order.revision',
    family: 'seedings',
  },
  {
    id: 'seeding-mark-at-start',
    rule: 'No mysqld is started on a folder that a seeding has given up.',
    heading: guess,
    file: 'agents/converge/next-pass.ts',
    find: "  if (stored.seeding) return staysDown('a seeding has not ended; it waits to be seeded again')\n",
    replace: '',
    family: 'seedings',
    survives: 'Covered: a manager seeds an instance again that says that its seeding has not ended.',
  },
  {
    id: 'seeded-stop-receiving',
    rule: 'An instance stops receiving before what it holds is archived and given up.',
    heading: guess,
    file: reseeding,
    find: '    await server.stopReceiver()\n    // A seeding',
    replace: '    // A seeding',
    family: 'seedings',
    survives: 'Covered: what arrives after the first archive is archived before the copy takes its place.',
  },
]
