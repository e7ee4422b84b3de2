import { describe } from 'vitest'
import { withCluster } from '#test/support/with-cluster.ts'
import { faults } from './semisync/faults.ts'
import { handMadeChanges } from './semisync/hand-made-changes.ts'

const shop = withCluster()

describe('Another hand', () => handMadeChanges(shop))
describe('A fault', () => faults(shop))
