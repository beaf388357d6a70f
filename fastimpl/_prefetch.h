/* Memory that will be read is fetched while something else is done. */
#ifndef GNN_PREFETCH_H
#define GNN_PREFETCH_H

#if defined(__GNUC__)
#define gnn_prefetch(address) __builtin_prefetch(address)
#else
#define gnn_prefetch(address) ((void)(address))
#endif

#endif
