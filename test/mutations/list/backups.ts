import type { Mutation } from '../mutation.ts'

const heading = 'Backups'
const backup = 'agents/backup/deaths/backup-deaths.test.ts'
const archive = 'agents/backup/deaths/archive-deaths.test.ts'
const retention = 'agents/backup/deaths/retention-deaths.test.ts'
const restoring = 'agents/backup/deaths/restoring-deaths.test.ts'

/** What whoever dies in the middle of a backup, a piece, a restore or a deletion leaves whole. */
export const backups: readonly Mutation[] = [
  {
    id: 'name-of-a-run-twice',
    rule: 'A run of a backup takes no name that another run has begun with.',
    heading,
    file: 'agents/backup/back-up.ts',
    find: '      await claimName(said, opened, this.#parts.config.instance)\n',
    replace: '',
    shownBy: backup,
  },
  {
    id: 'copy-that-an-agent-left',
    rule: 'A copy is removed that an agent left on the volume when the agent died.',
    heading,
    file: 'agents/lifecycle/mysql/data-dump.ts',
    find: 'if (await volume.hasStreamFolder()) {',
    replace: 'if (this.#isGone) {',
    shownBy: backup,
  },
  {
    id: 'run-that-did-not-finish',
    rule: 'What is left of a run that did not finish is removed.',
    heading,
    file: 'src/backup/retention/plan-retention.ts',
    find: 'if (ageMs >= stillWritingMs) return',
    replace: 'if (ageMs < 0) return',
    shownBy: backup,
  },
  {
    id: 'shipping-from-the-newest-file',
    rule: 'Who ships begins in the newest file before which nothing is that the archive lacks.',
    heading,
    file: 'agents/backup/archive/piece-sender.ts',
    find: 'if (isDone(before) || name === files[0]?.name)',
    replace: 'if (name !== "")',
    shownBy: archive,
  },
  {
    id: 'shipping-by-the-newest-backup',
    rule: 'The archive goes on from what all backups have that are whole, or that it has itself.',
    heading,
    file: 'agents/backup/archive/shipping.ts',
    find: 'this.#shipped = this.#shipped.union(gtids)\n        this.#begun',
    replace: 'this.#shipped = this.#shipped.union(executed)\n        this.#begun',
    shownBy: archive,
  },
  {
    id: 'parts-before-the-manifest',
    rule: 'The manifest of a backup that is deleted goes first.',
    heading,
    file: 'src/backup/transfer/read-stock.ts',
    find: '  const rest = keys.filter((key) => !isAlone(key))\n',
    replace: '  const rest = keys.filter((key) => !isAlone(key))\n  await store.delete(rest, options)\n',
    shownBy: retention,
  },
  {
    id: 'last-verified-one-deleted',
    rule: 'Retention keeps the newest backup that was verified.',
    heading,
    file: 'src/backup/retention/retention-rules.ts',
    find: 'keep(proven, (name)',
    replace: 'keep(undefined, (name)',
    shownBy: retention,
  },
  {
    id: 'binlogs-that-a-backup-needs',
    rule: 'Retention keeps the binary logs that a kept backup needs.',
    heading,
    file: 'src/backup/retention/archive-sweep.ts',
    find: 'kept.some((each) => epoch >= each.epoch && !each.copied.contains(gtids))',
    replace: 'kept.every((each) => epoch >= each.epoch && !each.copied.contains(gtids))',
    shownBy: retention,
  },
  {
    id: 'restored-data-without-a-note',
    rule: 'Restored data say so before they get their place.',
    heading,
    file: 'agents/backup/rebuild/restoring.ts',
    find: '      await volume.noteRestored(folder, String(what))\n',
    replace: '',
    shownBy: restoring,
  },
  {
    id: 'restored-data-not-recognized',
    rule: 'An agent that died behind the swap of restored data finds that they are there.',
    heading,
    file: 'agents/backup/rebuild/restoring.ts',
    find: '? await volume.restoredFrom() : undefined',
    replace: '? undefined : await volume.restoredFrom()',
    shownBy: restoring,
  },
]
