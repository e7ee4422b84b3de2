import { describe } from 'vitest'
import { withCluster } from '#test/support/with-cluster.ts'
import { lifecycleActions } from './semisync/lifecycle-actions.ts'
import { restarts } from './restarts.ts'
import { switchovers } from './semisync/switchovers.ts'

const shop = withCluster()

describe('A switchover', () => switchovers(shop))
describe('A restart', () => restarts(shop))
describe('A lifecycle action', () => lifecycleActions(shop))
