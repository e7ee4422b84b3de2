import type { Cases } from './case.ts'

export const serversCases: Cases = {
  'single servers': {
    'the primary’s disk is full': {
      views: { 'shop-0': { probe: 'diskFull', probeDetail: 'errno 28', freeBytes: 0 } },
      findings: ['DiskFull critical shop-0: primary shop-0: its disk is full (errno 28); 0.0 MiB are free'],
    },
    'a rolling update to another series is half done': {
      views: { 'shop-0': { server: { version: '8.4.6' } }, 'shop-1': { server: { version: '8.4.6' } } },
      findings: [
        'MixedVersions info -: instances run different series of MySQL: 8.4 (shop-0, shop-1), 9.7 ' +
          '(shop-2); one of the oldest leads until all are updated, since an older replica cannot follow a ' +
          'newer primary',
      ],
    },
    'a replica is older than its primary': {
      views: { 'shop-2': { server: { version: '8.4.6' } } },
      findings: [
        'MixedVersions warning shop-2: shop-2 runs MySQL 8.4 and follows primary shop-0 of 9.7: MySQL ' +
          'does not support an older replica of a newer source; update shop-2',
      ],
    },
    'releases of one series differ': {
      views: { 'shop-2': { server: { version: '9.7.3' } } },
      findings: [],
    },
    'the primary was closed before its disk is full': {
      views: { 'shop-0': { probe: 'lowSpace', freeBytes: 52428800, server: { readOnly: true, superReadOnly: true } } },
      findings: [
        'NoWritablePrimary critical shop-0: primary shop-0 takes no writes: read_only, super_read_only are on',
        'LowSpace critical shop-0: primary shop-0: it was closed to writes before its disk is full; 50.0 MiB are free',
      ],
    },
    'file systems went read-only, connections ran out, a lock is held': {
      views: {
        'shop-0': { probe: 'readOnlyFilesystem' },
        'shop-1': { probe: 'locked' },
        'shop-2': { probe: 'tooManyConnections' },
      },
      findings: [
        'ReadOnlyFilesystem critical shop-0: primary shop-0: its file system is read-only',
        'GlobalLock warning shop-1: replica shop-1: a lock is in the way of writes, or of what Regent must do',
        'TooManyConnections warning shop-2: replica shop-2: all of its connections are taken',
      ],
    },
    'a lock at the primary stands in the way of a gate': {
      views: {
        'shop-0': {
          probe: 'locked',
          probeDetail: 'session 12 of admin@10.0.0.7 holds the backup lock for 4 s; ALTER USER waits behind it',
        },
      },
      findings: [
        'GlobalLock critical shop-0: primary shop-0: a lock is in the way of writes, or of what Regent ' +
          'must do (session 12 of admin@10.0.0.7 holds the backup lock for 4 s; ALTER USER waits behind it)',
      ],
    },
    'the last probe of a server that is dead says nothing': {
      views: { 'shop-1': { process: 'dead', processSinceMs: 8, probe: 'diskFull' } },
      findings: ['ReplicaDead warning shop-1: replica shop-1 is dead: its mysqld is dead for 8 ms'],
    },
    'a replication filter is set, another was': {
      views: { 'shop-1': { server: { channel: { filtered: true } } }, 'shop-2': { stored: { filterSeen: true } } },
      findings: [
        'ReplicationFilter warning shop-1: shop-1 has a replication filter: it may lack rows that its GTIDs claim',
        'ReplicationFilter warning shop-2: shop-2 had a replication filter: it may lack rows that its GTIDs claim',
      ],
    },
    'a replica was open for writes': {
      views: { 'shop-1': { stored: { opened: true } } },
      findings: [
        'OpenedByHand warning shop-1: shop-1 was open for writes while it was no primary: its GTIDs ' +
          'do not prove that its data are the primary’s, and it counts for nothing until seeded again',
      ],
    },
    'tables are not InnoDB and settings were persisted': {
      views: { 'shop-0': { server: { foreignTables: ['app.log', 'app.cache'], persisted: ['super_read_only'] } } },
      findings: [
        'ForeignTables warning shop-0: shop-0 has tables that are not InnoDB, which no failover or CLONE keeps whole: app.log, app.cache',
        'PersistedVariables warning shop-0: shop-0 has settings persisted that Regent manages: super_read_only',
      ],
    },
    'a managed setting was changed while the server runs': {
      views: { 'shop-0': { server: { changedSettings: [{ name: 'sync_binlog', seen: '0', wanted: '1' }] } } },
      findings: [
        'SettingsChanged warning shop-0: shop-0 has settings that another hand changed and its agent puts right: sync_binlog is 0, to be 1',
      ],
    },
    'settings are in force that Regent does not know': {
      views: { 'shop-0': { unclassifiedSettings: ['validate_password.policy'] } },
      findings: [
        'UnclassifiedSettings warning shop-0: shop-0 has 1 setting that Regent does not know and a ' +
          'person allowed (allowUnclassified): validate_password.policy; nobody can say whether safety ' +
          'rests on that',
      ],
    },
    'mysqld refuses a setting, before it was started and while it runs': {
      views: {
        'shop-0': { settingsRefused: "unknown variable 'bogus=1'" },
        'shop-1': { process: 'absent', server: null, settingsRefused: "unknown variable 'bogus=1'" },
      },
      findings: [
        'ReplicaDead warning shop-1: replica shop-1 is dead: its mysqld is absent for 60 s',
        'SettingsRefused warning shop-0: mysqld of shop-0 refuses its settings: unknown variable ' +
          "'bogus=1'; it runs on with those of before, and would not start again until that setting is " +
          'taken out or put right',
        'SettingsRefused warning shop-1: mysqld of shop-1 refuses its settings: unknown variable ' +
          "'bogus=1'; it is not started until that setting is taken out or put right",
      ],
    },
    'mysqld takes a setting and does not come up with that, and is started with those of before': {
      views: {
        'shop-1': {
          settingsRefused:
            '[ERROR] [MY-012681] [InnoDB] Cannot allocate memory; changed since the last good start: innodb_buffer_pool_size 64T, was 128M',
          settingsRolledBack: true,
        },
      },
      findings: [
        'SettingsRefused warning shop-1: mysqld of shop-1 refuses its settings: [ERROR] [MY-012681] ' +
          '[InnoDB] Cannot allocate memory; changed since the last good start: innodb_buffer_pool_size ' +
          '64T, was 128M; it was started with those of its last good start, and stays so until that ' +
          'setting is taken out or put right',
      ],
    },
    'mysqld does not come up, and is just started again': {
      views: {
        'shop-1': { process: 'starting', server: null, startFailed: '[ERROR] [MY-010262] Bind on port: in use' },
        'shop-2': { startFailed: 'of before' },
      },
      findings: [
        'ReplicaNotReplicating warning shop-1: replica shop-1 does not replicate: its mysqld is starting for 60 s',
        'MysqldDoesNotStart warning shop-1: mysqld of shop-1 does not come up: [ERROR] [MY-010262] Bind on port: in use; it is started again by itself',
      ],
    },
    'what a failover rests upon was taken away': {
      views: {
        'shop-1': {
          lacks: [
            {
              what: 'table regent.marker',
              for: 'the proof that replicas hold everything',
              cure: 'its agent puts that right',
            },
          ],
        },
        'shop-2': { process: 'dead', lacks: [{ what: 'plugin clone', for: 'copies', cure: 'wait' }] },
      },
      findings: [
        'ReplicaDead warning shop-2: replica shop-2 is dead: its mysqld is dead for 60 s',
        'NotReadyForFailover warning shop-1: shop-1 lacks what a failover, a copy or its next start ' +
          'rests upon: table regent.marker (for the proof that replicas hold everything; its agent puts ' +
          'that right)',
      ],
    },
    'a replica was told to apply later, and another option of its channel was changed': {
      views: {
        'shop-1': { server: { channel: { changedOptions: [{ name: 'SOURCE_DELAY', seen: '3600', wanted: '0' }] } } },
        'shop-2': {
          server: {
            channel: {
              changedOptions: [
                { name: 'SOURCE_BIND', seen: '10.0.0.9', wanted: '' },
                { name: 'SOURCE_RETRY_COUNT', seen: '1', wanted: '1000000000' },
              ],
            },
          },
        },
      },
      findings: [
        'ReplicaDelayed warning shop-1: shop-1 was told to apply 3600 s later than it receives (SOURCE_DELAY); its agent ends that',
        'ChannelOptionsChanged warning shop-2: the replication channel of shop-2 has options that ' +
          'another hand changed and its agent puts right: SOURCE_BIND is 10.0.0.9, to be empty; ' +
          'SOURCE_RETRY_COUNT is 1, to be 1000000000',
      ],
    },
    'binlog numbers run out': {
      views: { 'shop-0': { server: { binlogNumber: 900000 } }, 'shop-1': { server: { binlogNumber: 899999 } } },
      findings: [
        'BinlogNumberHigh warning shop-0: shop-0 writes binlog file number 900000; semi-sync breaks past 999999',
      ],
    },
  },
}
