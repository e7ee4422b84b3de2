import { beforeAnyRecord, type Cases } from './case.ts'

export const standingCases: Cases = {
  'what people and records say': {
    'automatic actions are paused': {
      expected: { paused: true },
      findings: ['Paused warning -: automatic actions are paused: nothing fails over until they are resumed'],
    },
    'the notes cannot be used': {
      expected: { notesDamage: 'the notes of shop cannot be used' },
      findings: ['NotesDamaged critical -: the notes of shop cannot be used'],
    },
    'a fenced primary is a deliberate outage, a fenced replica is no fault': {
      views: { 'shop-0': { server: { readOnly: true, superReadOnly: true, offlineMode: true } } },
      expected: { fenced: ['shop-0', 'shop-2'] },
      findings: [
        'Fenced warning shop-0: shop-0 is fenced by a person: nobody can write until it is unfenced',
        'Fenced warning shop-2: shop-2 is fenced by a person: it takes no connections until it is unfenced',
      ],
    },
    'the record was lost while agents hold what it said': {
      expected: beforeAnyRecord,
      shape: { instances: 1 },
      findings: [
        'NoWritablePrimary critical -: no primary is recorded yet for 1 instance',
        'RecordLost critical shop-0: no record is there, and shop-0 acted on one (epoch 1, revision 1): ' +
          'the record is rebuilt once all known members have answered',
      ],
    },
    'an agent knows a newer revision than the record': {
      views: { 'shop-1': { stored: { revision: 9 } } },
      findings: [
        'RecordFromThePast critical shop-1: the record (epoch 1, revision 1) is older than what shop-1 stored (epoch 1, revision 9): a person must decide',
      ],
    },
    'an agent knows a newer epoch than the record': {
      views: { 'shop-1': { stored: { promise: 3 } } },
      findings: [
        'RecordFromThePast critical shop-1: the record (epoch 1, revision 1) is older than what shop-1 stored (epoch 3, revision 1): a person must decide',
      ],
    },
    'an agent was given orders of a newer epoch than the record’s': {
      views: {
        'shop-1': {
          stored: {
            promise: 2,
            assignment: { epoch: 2, revision: 1, role: 'replica', counted: true, fenced: false, source: 'shop-0' },
          },
        },
      },
      findings: [
        'RecordFromThePast critical shop-1: the record (epoch 1, revision 1) is older than what shop-1 stored (epoch 2, revision 1): a person must decide',
      ],
    },
    'the record names another primary than the one that was made primary in its epoch': {
      views: {
        'shop-1': {
          stored: {
            assignment: { epoch: 1, revision: 1, role: 'primary', counted: false, fenced: false, source: null },
          },
        },
      },
      findings: [
        'RecordOfAnotherHistory critical shop-1: the record names shop-0 as primary of epoch 1, and ' +
          'shop-1 was made primary in the same epoch, which has one alone: this record is not the right one; ' +
          'a person must decide',
      ],
    },
    'a promise one epoch ahead belongs to a failover under way': {
      views: { 'shop-1': { stored: { promise: 2 } } },
      findings: [],
    },
  },
}
