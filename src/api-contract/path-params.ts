import { Type, type Static } from 'typebox'

export const clusterParams = Type.Object({
  cluster: Type.String({
    pattern: '^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?[.])?[a-z][a-z0-9-]{0,38}$',
    description: 'Name of the cluster; on Kubernetes <namespace>.<name>, or the name alone where it is unique.',
  }),
})

export const recoveryParams = Type.Object({
  ...clusterParams.properties,
  id: Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$', description: 'Id of the recovery.' }),
})

export type ClusterParams = Static<typeof clusterParams>
export type RecoveryParams = Static<typeof recoveryParams>
