#pragma once
// The tables of all sections: the one place where a key gets its name, rule, unit and meaning.

#include "deck/section.hpp"
#include "deck/sections.hpp"

namespace galvatron::deck {

Section<RunSection> run_table();
Section<ModelSection> model_table();
Section<DataSection> data_table();
Section<ClusterSection> cluster_table();
Section<ProfileSection> profile_table();
Section<SearchSection> search_table();
Section<GalvatronSection> galvatron_table();
Section<PlanSection> plan_table();
Section<TrainSection> train_table();
Section<CheckpointSection> checkpoint_table();

}  // namespace galvatron::deck
