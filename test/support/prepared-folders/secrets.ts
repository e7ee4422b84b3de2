import { newAccountSecret } from '#common/mysql/account-password.ts'

/** The secret of clusters that tests start, unless one brings its own. */
export const clusterSecret = newAccountSecret('of tests only'.repeat(5))

/** The secret of servers that tests move without an agent. */
export const bareSecret = 'a secret of tests only'

/** With the same passwords a new server is the same each time, so that its data folder can be a copy. */
export const testSecrets = [clusterSecret, bareSecret]
