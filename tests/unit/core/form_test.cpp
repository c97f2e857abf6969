// Tables of forms: which row counts, and which form a group may have.
#include "core/form.hpp"

#include <gtest/gtest.h>

#include "core/errors.hpp"

namespace galvatron::core {
namespace {

TEST(FormTable, TakesTheRowOfTheLargestSizeThatIsReached) {
  const FormTable table{{{CollectiveKind::all_reduce, 1000, Form::shared},
                         {CollectiveKind::all_reduce, 50000, Form::direct},
                         {CollectiveKind::all_gather, 0, Form::hierarchical}}};
  EXPECT_EQ(table.of(CollectiveKind::all_reduce, 999), Form::direct);
  EXPECT_EQ(table.of(CollectiveKind::all_reduce, 1000), Form::shared);
  EXPECT_EQ(table.of(CollectiveKind::all_reduce, 49999), Form::shared);
  EXPECT_EQ(table.of(CollectiveKind::all_reduce, 1 << 30), Form::direct);
  EXPECT_EQ(table.of(CollectiveKind::all_gather, 0), Form::hierarchical);
  EXPECT_EQ(table.of(CollectiveKind::reduce_scatter, 1 << 20), Form::direct);
  EXPECT_TRUE(table.uses(Form::hierarchical));
  EXPECT_FALSE(FormTable{}.uses(Form::direct));
}

TEST(FormTable, OfAGroupHasTheRowsOfItsShapeOnly) {
  const FormRow row{CollectiveKind::all_reduce, 0, Form::shared};
  const std::vector<FormChoice> choices = {{2, 1, 2, row}, {4, 1, 4, row}, {4, 2, 2, {}}};
  EXPECT_EQ(table_of(choices, 4, 1, 4).rows, std::vector<FormRow>{row});
  EXPECT_TRUE(table_of(choices, 3, 1, 3).rows.empty());
}

TEST(Form, SaysWhichGroupsItIsFor) {
  EXPECT_EQ(form_fault(Form::direct, CollectiveKind::broadcast, 7, 3, 4), "");
  EXPECT_EQ(form_fault(Form::shared, CollectiveKind::all_to_all, 2, 1, 2), "");
  EXPECT_EQ(form_fault(Form::hierarchical, CollectiveKind::all_gather, 3, 2, 2), "");
  EXPECT_NE(form_fault(Form::shared, CollectiveKind::all_reduce, 4, 2, 2), "");
  EXPECT_NE(form_fault(Form::hierarchical, CollectiveKind::all_reduce, 4, 4, 1), "");
  EXPECT_NE(form_fault(Form::hierarchical, CollectiveKind::all_reduce, 4, 1, 4), "");
  EXPECT_EQ(form_fault(Form::hierarchical, CollectiveKind::all_to_all, 4, 2, 2),
            "there is no hierarchical all_to_all");
}

TEST(Form, NamesGoThereAndBack) {
  for (const auto form : {Form::direct, Form::hierarchical, Form::shared})
    EXPECT_EQ(form_named(name_of(form)), form);
  for (int i = 0; i <= static_cast<int>(CollectiveKind::exchange); ++i) {
    const auto kind = static_cast<CollectiveKind>(i);
    EXPECT_EQ(collective_named(name_of(kind)), kind);
  }
  EXPECT_THROW(form_named("ring"), UserError);
  EXPECT_THROW(collective_named("gather"), UserError);
}

}  // namespace
}  // namespace galvatron::core
