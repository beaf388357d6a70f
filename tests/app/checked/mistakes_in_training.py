"""A script with mistakes in how data sets, models, methods and training are used."""

import numpy as np

import refimpl as gnn

data = gnn.load_dataset("karate")
gnn.load_dataset(7)  # mistake
gnn.load_dataset("karate", setting="inductiv")  # mistake
gnn.load_dataset("karate", scaling="standardised")  # mistake
gnn.load_dataset("karate", dtype="float16")  # mistake
gnn.load_dataset("karate", seed=1)  # mistake
gnn.lab.data.kronecker("10", 8)  # mistake
gnn.lab.data.power_law(1000)  # mistake
data.with_setting("both")  # mistake
print(data.n_nodes)  # mistake
data.save(None)  # mistake
gnn.Dataset("mine", data.graph, data.features, np.zeros(34), [0], [1], [2])  # mistake
gnn.Dataset("mine", data.graph, data.features, data.labels, data.train)  # mistake
gnn.Dataset.from_csv("edges.csv", "nodes.csv", scalin="rows")  # mistake

gnn.models.Gat(heads="8")  # mistake
gnn.models.Gat(attention="softmx")  # mistake
gnn.models.Sage(concat="neighbours_first")  # mistake
gnn.methods.Fresh(t_stael=5)  # mistake
gnn.methods.Fresh(header="cycles")  # mistake
gnn.methods.Neighbor(fanouts=10)  # mistake
gnn.methods.SampledGraph(sampler="edge")  # mistake
print(gnn.methods.SampledGraph().batch_size)  # mistake

gnn.TrainConfig(model=3)  # mistake
gnn.TrainConfig(method=gnn.models.Gat())  # mistake
gnn.TrainConfig(hiden=64)  # mistake
gnn.TrainConfig(layers=2.5)  # mistake
gnn.TrainConfig(classifier="linear")  # mistake
gnn.TrainConfig(rng="seed")  # mistake
config = gnn.TrainConfig(model="gat", method=gnn.methods.Fresh(t_stale=5), epochs=3)
config.epochs = 4  # mistake

gnn.train(config, data)  # mistake
gnn.train(gnn, data, config)  # mistake
gnn.train(data)  # mistake
gnn.train(data, config, after_epoch="print")  # mistake
gnn.train(data, config, comm=4)  # mistake
result = gnn.train(data, config)
print(result.test_f2)  # mistake
print(result.history[0].time)  # mistake
print(result.test_f1 + 1)  # mistake
with gnn.make_trainer(data, config) as trainer:
    trainer.run_epoch()  # mistake
    trainer.epoch(lambda a, b: None)  # mistake

model = gnn.TrainedModel.trained(data, config, result)  # mistake
model = gnn.TrainedModel.trained(data, config, result.weights)
gnn.save_model(model, "model.npz")  # mistake
gnn.predict(model, data.graph, data.features, what="label")  # mistake
gnn.predict(model, data.features, data.graph)  # mistake
gnn.NodeClassifier(model="gcn").fit(data.graph, data.labels, train=data.train)  # mistake
gnn.NodeClassifier(epoch=3)  # mistake
gnn.NodeClassifier(epochs="3")  # mistake
gnn.NodeClassifier().set_params(epoch=3)  # mistake
gnn.register_layer(gnn.models.Gat())  # mistake
gnn.SubgraphPool(data.graph, "edge", 0)  # mistake
gnn.lab.training.grow_clusters(data, 4, 0)  # mistake
gnn.as_printed("gat")  # mistake
