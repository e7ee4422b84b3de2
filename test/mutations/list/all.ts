import type { Mutation } from '../mutation.ts'
import { adoptedServers } from './adopted.ts'
import { backups } from './backups.ts'
import { decisions } from './decisions.ts'
import { farServers } from './far.ts'
import { groups } from './groups.ts'
import { managers } from './managers.ts'
import { primaries } from './primaries.ts'
import { promises } from './promises.ts'
import { replicas } from './replicas.ts'
import { routers } from './routers.ts'
import { salvages } from './salvages.ts'
import { starts } from './starts.ts'

export const mutations: readonly Mutation[] = [
  ...promises,
  ...starts,
  ...primaries,
  ...replicas,
  ...decisions,
  ...managers,
  ...groups,
  ...salvages,
  ...farServers,
  ...adoptedServers,
  ...routers,
  ...backups,
]
