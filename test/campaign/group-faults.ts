import { hand, setting } from './hand-faults.ts'
import { anyone } from './process-faults.ts'
import type { Fault } from './scene.ts'

const mode = 'group'

/** What people do to a replication group, with all rights. */
export const groupFaults: readonly Fault[] = [
  {
    name: 'a member is told to leave',
    weight: 3,
    mode,
    async strike(scene) {
      const target = anyone(scene)
      await hand(scene, target, 'stop group_replication')
      return { did: `STOP GROUP_REPLICATION at ${target}` }
    },
  },
  {
    name: 'another primary is elected by hand',
    weight: 2,
    mode,
    async strike(scene) {
      const to = scene.dice.pick(scene.replicas)
      await hand(scene, to, 'select group_replication_set_as_primary(@@server_uuid)')
      return { did: `group_replication_set_as_primary() of ${to}` }
    },
  },
  {
    name: 'all members are made to write',
    weight: 2,
    mode,
    letsSeveralWrite: true,
    async strike(scene) {
      await hand(scene, scene.primary, 'select group_replication_switch_to_multi_primary_mode()')
      return { did: `group_replication_switch_to_multi_primary_mode() at ${scene.primary}` }
    },
  },
  {
    name: 'a member is opened',
    weight: 2,
    mode,
    letsSeveralWrite: true,
    async strike(scene) {
      const target = scene.dice.pick(scene.replicas)
      await hand(scene, target, 'set global read_only = off')
      return { did: `read_only = off at ${target}` }
    },
  },
  {
    name: 'the account of the group is changed',
    weight: 2,
    mode,
    async strike(scene) {
      const target = anyone(scene)
      const change = scene.dice.pick([`identified by 'another'`, 'account lock'])
      await hand(
        scene,
        target,
        'set sql_log_bin = off',
        'set global super_read_only = off',
        `alter user regent_group ${change}`,
      )
      return { did: `ALTER USER regent_group ${change.split(' ')[0]} at ${target}` }
    },
  },
  setting(
    'a setting of the group is changed',
    [
      'group_replication_member_expel_timeout = 60',
      'group_replication_unreachable_majority_timeout = 0',
      'group_replication_exit_state_action = read_only',
      'group_replication_autorejoin_tries = 3',
      'group_replication_member_weight = 90',
    ],
    { weight: 2, mode },
  ),
]
